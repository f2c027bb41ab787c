import { Button } from '@mantine/core';

import { useCommon } from '../messages/common.js';

// Loads the next part of a list with a cursor.
export function MoreButton({ list }: { list: { hasNextPage: boolean; isFetchingNextPage: boolean; fetchNextPage: () => unknown } }) {
  const t = useCommon();
  if (!list.hasNextPage) return null;
  return <Button variant="default" loading={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>{t('loadMore')}</Button>;
}
