import { Center, Image, Text } from '@mantine/core';
import { useEffect, useState } from 'react';

import type { AdminStream } from '../../gen/api.js';
import { useAdminStreams } from '../messages/admin-streams.js';

// The server makes a new picture at most this often.
const everyMs = 10_000;

// The newest picture of a stream that is on air, loaded again every ten seconds; a note while there is none. Nothing off air.
export function LivePicture({ stream: { name, pictureUrl } }: { stream: AdminStream }) {
  const t = useAdminStreams();
  const [turn, setTurn] = useState(0);
  const [failed, setFailed] = useState('');
  useEffect(() => {
    const timer = setInterval(() => !document.hidden && setTurn((before) => before + 1), everyMs);
    return () => clearInterval(timer);
  }, []);
  if (!pictureUrl) return null;
  // The server of this page has the picture too. Another address each time, or the browser shows the picture that it has.
  const source = `${new URL(pictureUrl).pathname}?turn=${turn}`;
  if (failed === source) return <Center className="live-picture" role="status"><Text size="sm" c="white">{t('noPicture')}</Text></Center>;
  return <Image className="live-picture" src={source} fit="contain" alt={t('pictureOf', { name })} onError={() => setFailed(source)} />;
}
