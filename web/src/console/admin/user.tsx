import { Alert, Button, SimpleGrid, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';

import { client, unwrap } from '../lib/api.js';
import { time } from '../lib/format.js';
import { Empty, Heading, Section, Waiting } from '../lib/parts.js';
import { useAdmin } from '../messages/admin.js';
import { useAdminPeople } from '../messages/admin-people.js';
import { useWord } from '../messages/admin-words.js';
import { useCommon } from '../messages/common.js';
import { Facts, Rows, Tag } from './shown.js';
import { useUserActions } from './user-actions.js';

// The list of users finds one by its id. There is no operation for a single user.
const find = async (id: string) => {
  const { items } = await unwrap(client.GET('/v1/admin/users', { params: { query: { q: id } } }));
  return items.find((user) => user.id === id) ?? null;
};

export default function UserPage() {
  const { id = '' } = useParams({ strict: false }) as { id?: string };
  const t = useAdmin();
  const people = useAdminPeople();
  const common = useCommon();
  const word = useWord();
  const navigate = useNavigate();
  const actions = useUserActions();
  const query = useQuery({ queryKey: ['admin-user', id], queryFn: () => find(id), refetchInterval: 30_000 });
  if (query.data === undefined) return <Waiting query={query} />;
  if (query.data === null) {
    return (
      <Stack>
        <Heading title={people('profile')} />
        <Stack align="center" py="xl" role="status">
          <Empty text={people('gone')}><Link className="link" to="/users">{people('toUsers')}</Link></Empty>
        </Stack>
      </Stack>
    );
  }
  const user = query.data;
  return (
    <Stack>
      <Heading title={user.name || user.email}>
        {actions(user, () => void navigate({ to: '/users' })).map(({ label, run, danger }) => (
          <Button key={label} size="xs" {...(danger ? { color: 'red.9' } : { variant: 'default' })} onClick={run}>{label}</Button>
        ))}
      </Heading>
      {user.status === 'INVITED' && <Alert variant="outline">{people('invited')}</Alert>}
      <Section title={people('profile')}>
        <Facts of={[
          [common('email'), user.email],
          [t('tenant'), <Link key="tenant" className="link" to={`/tenants/${user.tenantId}` as never}>{user.tenantName}</Link>],
          [common('role'), word(user.role)], [common('status'), <Tag key="status" of={user.status} />],
          [t('lastLogin'), time(user.lastLoginAt)], [common('created'), time(user.createdAt)], [people('changed'), time(user.updatedAt)],
          [people('id'), user.id],
        ]} />
      </Section>
      <SimpleGrid cols={{ base: 1, lg: 2 }}>
        <Entries title={people('actionsBy')} of="actor" id={id} empty={people('noActions')} />
        <Entries title={people('changesOf')} of="entity" id={id} empty={people('noChanges')} />
      </SimpleGrid>
    </Stack>
  );
}

const entryCount = '10';

// The newest entries of the audit log that name the user as the actor, or as the changed entity.
function Entries({ title, of, id, empty }: { title: string; of: 'actor' | 'entity'; id: string; empty: string }) {
  const t = useAdmin();
  const people = useAdminPeople();
  const common = useCommon();
  const word = useWord();
  const query = useQuery({
    queryKey: ['admin-user-audit', of, id],
    queryFn: () => unwrap(client.GET('/v1/admin/audit', { params: { query: { [of]: id, pageSize: entryCount } } })),
    refetchInterval: 30_000,
  });
  if (!query.data) return <Waiting query={query} />;
  return (
    <Rows title={title} empty={empty} head={[t('action'), of === 'actor' ? t('entity') : t('actor'), common('reason'), t('at')]}
      aside={<Link className="link" to="/audit" search={{ [of]: id } as never}
        aria-label={`${people('all')}: ${title}`}>{people('all')}</Link>}
      rows={query.data.items.map((entry) => ({
        key: entry.id,
        cells: [entry.action, of === 'actor' ? entry.entity : word(entry.actorType), entry.reason ?? '–', time(entry.at)],
      }))} />
  );
}
