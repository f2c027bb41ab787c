export const commonEn = {
  signIn: 'Sign in', signOut: 'Sign out', email: 'E-mail', password: 'Password', code: 'Code from your authenticator app',
  useRecovery: 'Use a recovery code', recoveryCode: 'Recovery code', forgot: 'Forgot your password?', forgotSent: 'If this e-mail has an account, a link is on its way.',
  expiredTitle: 'Sign in again', expiredText: 'Your session has expired. Sign in to continue: nothing that you typed is lost.',
  network: 'The server can’t be reached. Check the connection and try again.', retry: 'Try again', stale: 'The page shows older data, because it could not be refreshed.', copy: 'Copy', copied: 'Copied',
  request: 'Request', problemCode: 'Code', loading: 'Loading', search: 'Search', commands: 'Commands', commandHint: 'Go to a page or change a setting',
  nothingFound: 'Nothing found', menu: 'Menu', language: 'Language', scheme: 'Colours', light: 'Light', dark: 'Dark', auto: 'Like the system',
  columns: 'Columns', exportCsv: 'Export CSV', exportedPart: 'The file has the first {n} rows. Filter the list to export others.', all: 'All', cancel: 'Cancel', save: 'Save', saved: 'Saved', close: 'Close', create: 'Create',
  loadMore: 'Load more', notFound: 'There is no such page', notFoundText: 'Choose a page from the navigation.', reason: 'Reason', from: 'From',
  name: 'Name', status: 'Status', created: 'Created', role: 'Role', plan: 'Plan', actions: 'Actions', done: 'Done', page: 'Page',
  shown: '{from}–{to} of {total}', rows: 'Rows', account: 'Account',
  previousPage: 'Previous page', nextPage: 'Next page', crashed: 'This page failed', crashedText: 'Reload it. If it fails again, report the message below.',
  empty: 'Nothing here yet', navigation: 'Navigation',
};
