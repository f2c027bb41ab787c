import { Button } from '@mantine/core';
import { Link, useNavigate } from '@tanstack/react-router';

import { client } from '../lib/api.js';
import { AdminList } from '../lib/admin-list.js';
import { time } from '../lib/format.js';
import { Heading } from '../lib/parts.js';
import { useAdminSupport } from '../messages/admin-support.js';
import { useWord } from '../messages/admin-words.js';
import { useCommon } from '../messages/common.js';
import { useMay } from './gate.js';
import { Tag } from './shown.js';

export default function Announcements() {
  const t = useAdminSupport();
  const common = useCommon();
  const word = useWord();
  const may = useMay();
  const navigate = useNavigate();
  const plans = (of: string[]) => (of.length === 0 ? t('allPlans') : of.map(word).join(', '));
  return (
    <>
      <Heading title={t('announcements')}>
        {may('admin:write') && <Button size="xs" onClick={() => void navigate({ to: '/announcements/new' as never })}
          data-testid="new">{t('newAnnouncement')}</Button>}
      </Heading>
      <AdminList name="announcements" label={t('announcements')} empty={t('announcementsEmpty')}
        get={(query) => client.GET('/v1/admin/announcements', { params: { query } })}
        columns={[
          { key: 'name', title: t('titleLabel'), value: ({ title }) => title,
            render: ({ id, title }) => <Link className="link" to={`/announcements/${id}` as never}>{title}</Link> },
          { key: 'status', title: common('status'), value: ({ status }) => status, render: ({ status }) => <Tag of={status} /> },
          { key: 'severity', title: t('severity'), value: ({ severity }) => severity, render: ({ severity }) => <Tag of={severity} />,
            wide: true },
          { key: 'audience', title: t('audience'), value: ({ audience }) => plans(audience), wide: true },
          { key: 'published', title: t('published'), value: ({ publishedAt }) => publishedAt,
            render: ({ publishedAt }) => time(publishedAt), wide: true },
          { key: 'expires', title: t('expires'), value: ({ expiresAt }) => expiresAt, render: ({ expiresAt }) => time(expiresAt),
            wide: true },
        ]} />
    </>
  );
}
