import {
  AppShell, Box, Burger, Button, Group, Menu, Modal, NavLink, ScrollArea, Text, TextInput, UnstyledButton, useMantineColorScheme,
  VisuallyHidden,
} from '@mantine/core';
import { useDisclosure, useHotkeys } from '@mantine/hooks';
import { ModalsProvider } from '@mantine/modals';
import { Notifications } from '@mantine/notifications';
import { Link, useLocation, useNavigate } from '@tanstack/react-router';
import { useState, type KeyboardEvent, type ReactNode } from 'react';

import { useCommon } from '../messages/common.js';
import { languages, setLanguage, useLanguage } from './i18n.js';
import type { Place, PlaceGroup } from './places.js';
import { useSessionExpired } from './session.js';
import { StaleNote } from './stale-note.js';

export interface FrameProps {
  title: string;
  // Pages that the role may open.
  groups: PlaceGroup[];
  user: string;
  signOut: () => void;
  // The form that is shown over the page when the session has expired.
  signIn: ReactNode;
  children: ReactNode;
}

export default function Frame({ title, groups, user, signOut, signIn, children }: FrameProps) {
  const t = useCommon();
  const [open, { toggle, close }] = useDisclosure();
  const [commands, setCommands] = useState(false);
  const expired = useSessionExpired();
  useHotkeys([['mod+K', () => setCommands(true)]], []);
  return (
    <ModalsProvider>
      <Notifications />
      <AppShell header={{ height: 52 }} navbar={{ width: 220, breakpoint: 'sm', collapsed: { mobile: !open } }} padding="md">
        <AppShell.Header>
          <Group h="100%" px="md" justify="space-between" wrap="nowrap">
            <Group gap="xs" wrap="nowrap" miw={0}>
              <Burger opened={open} onClick={toggle} hiddenFrom="sm" size="sm" flex="none" aria-label={t('menu')} />
              <img src="/assets/favicon.svg" alt="" width={24} height={24} />
              <Text fw={700} truncate>{title}</Text>
            </Group>
            <Group gap="xs" wrap="nowrap" flex="none">
              <Button variant="default" size="xs" visibleFrom="sm" onClick={() => setCommands(true)}>{t('commands')} · Ctrl K</Button>
              <AccountMenu user={user} signOut={signOut} openCommands={() => setCommands(true)} />
            </Group>
          </Group>
        </AppShell.Header>
        <AppShell.Navbar p="xs" aria-label={t('navigation')}>
          <ScrollArea>
            {groups.map(({ label, places }) => (
              <Box key={label ?? ''} component="section" aria-label={label} mb="xs">
                {label && <Text size="xs" c="dimmed" fw={600} px="sm" py={4}>{label}</Text>}
                {places.map((place) => <PlaceLink key={place.path} place={place} close={close} />)}
              </Box>
            ))}
          </ScrollArea>
        </AppShell.Navbar>
        <AppShell.Main>
          <Box maw={1200} mx="auto"><StaleNote />{children}</Box>
        </AppShell.Main>
      </AppShell>
      <Commands open={commands} close={() => setCommands(false)} places={groups.flatMap(({ places }) => places)} signOut={signOut} />
      <Modal opened={expired} onClose={() => undefined} withCloseButton={false} closeOnEscape={false} title={t('expiredTitle')} zIndex={1000}>
        <Text size="sm" mb="md">{t('expiredText')}</Text>
        {signIn}
      </Modal>
    </ModalsProvider>
  );
}

function PlaceLink({ place: { path, label }, close }: { place: Place; close: () => void }) {
  const { pathname } = useLocation();
  const active = path === '/' ? pathname === '/' : pathname === path || pathname.startsWith(`${path}/`);
  return (
    <NavLink label={label} active={active} onClick={close} variant="light" aria-current={active ? 'page' : undefined} py={6}
      renderRoot={(props) => <Link {...props} to={path} />} />
  );
}

function AccountMenu({ user, signOut, openCommands }: { user: string; signOut: () => void; openCommands: () => void }) {
  const t = useCommon();
  const language = useLanguage();
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <Menu position="bottom-end" withinPortal={false}>
      <Menu.Target>
        <Button variant="default" size="xs" data-testid="account" maw={180}><Text size="xs" truncate>{user}</Text></Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label c="dimmed">{t('scheme')}</Menu.Label>
        {(['light', 'dark', 'auto'] as const).map((scheme) => (
          <Menu.Item key={scheme} onClick={() => setColorScheme(scheme)} rightSection={scheme === colorScheme ? '✓' : null}>{t(scheme)}</Menu.Item>
        ))}
        <Menu.Label c="dimmed">{t('language')}</Menu.Label>
        {languages.map(({ value, label }) => (
          <Menu.Item key={value} lang={value} onClick={() => setLanguage(value)} rightSection={value === language ? '✓' : null}>{label}</Menu.Item>
        ))}
        <Menu.Divider />
        <Menu.Item onClick={openCommands}>{t('commands')}</Menu.Item>
        <Menu.Item onClick={signOut} data-testid="sign-out">{t('signOut')}</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

// The command palette: pages and settings by a part of their name, chosen with the arrow keys and Enter.
function Commands({ open, close, places, signOut }: { open: boolean; close: () => void; places: Place[]; signOut: () => void }) {
  const t = useCommon();
  const navigate = useNavigate();
  const { setColorScheme } = useMantineColorScheme();
  const [search, setSearch] = useState('');
  const [at, setAt] = useState(0);
  const all = [
    ...places.map(({ path, label }) => ({ label, run: () => { void navigate({ to: path }); } })),
    ...(['light', 'dark', 'auto'] as const).map((scheme) => ({ label: `${t('scheme')}: ${t(scheme)}`, run: () => setColorScheme(scheme) })),
    ...languages.map(({ value, label }) => ({ label: `${t('language')}: ${label}`, run: () => setLanguage(value) })),
    { label: t('signOut'), run: signOut },
  ];
  const found = all.filter(({ label }) => label.toLowerCase().includes(search.trim().toLowerCase()));
  const choose = (index: number) => {
    found[index]?.run();
    close();
    setSearch('');
    setAt(0);
  };
  const onKey = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      setAt((was) => (was + step + found.length) % Math.max(1, found.length));
    } else if (event.key === 'Enter') {
      event.preventDefault();
      choose(at);
    }
  };
  return (
    <Modal opened={open} onClose={close} title={t('commands')} closeButtonProps={{ 'aria-label': t('close') }}>
      <TextInput aria-label={t('commandHint')} placeholder={t('commandHint')} data-autofocus value={search} onKeyDown={onKey}
        role="combobox" aria-expanded="true" aria-controls="commands" aria-activedescendant={found.length > 0 ? `command-${at}` : undefined}
        onChange={(event) => { setSearch(event.currentTarget.value); setAt(0); }} />
      <div id="commands" role="listbox" aria-label={t('commands')}>
        {found.map(({ label }, index) => (
          <UnstyledButton key={label} id={`command-${index}`} role="option" aria-selected={index === at} tabIndex={-1} display="block" w="100%" p="xs"
            bg={index === at ? 'var(--mantine-color-default-hover)' : undefined} onClick={() => choose(index)}>{label}</UnstyledButton>
        ))}
      </div>
      {found.length === 0 && <Text size="sm" p="xs" role="status">{t('nothingFound')}</Text>}
      <VisuallyHidden role="status">{found.length}</VisuallyHidden>
    </Modal>
  );
}
