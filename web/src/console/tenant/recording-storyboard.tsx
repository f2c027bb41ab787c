import { Alert, Button, Group, Stack, Text, UnstyledButton } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useRef, useState, type KeyboardEvent } from 'react';

import { readStoryboard } from '../../player/storyboard.js';
import { clockText } from '../lib/clock.js';
import { Section, Waiting } from '../lib/parts.js';
import { useCommon } from '../messages/common.js';
import { useRecordings } from '../messages/recordings.js';

// A picture of the recording: a part of a sheet, from a time on. Times are in seconds, parts in pixels.
interface Scene { at: number; sheet: string; x: number; y: number; width: number; height: number }

interface Props {
  url: string | null;
  ready: boolean;
  // Plays from a time.
  seek: (seconds: number) => void;
  // Sets an end of the clip; absent if the role makes none.
  mark?: (end: 'from' | 'to', seconds: number) => void;
}

export function Storyboard({ url, ready, seek, mark }: Props) {
  const t = useRecordings();
  return (
    <Section title={t('storyboard')}>
      {url ? <Loaded url={url} seek={seek} mark={mark} />
        : <Text size="sm" c="dimmed">{t(ready ? 'noStoryboard' : 'noStoryboardYet')}</Text>}
    </Section>
  );
}

const mostText = 4 << 20; // characters, as in the player

async function load(url: string, signal: AbortSignal): Promise<Scene[]> {
  const answer = await fetch(new URL(url).pathname, { signal }); // the server of this page has it too
  if (!answer.ok) throw new TypeError(`status ${answer.status}`);
  const text = await answer.text();
  if (text.length > mostText) throw new TypeError('the storyboard is too large');
  return readStoryboard(text, answer.url).flatMap(({ start, url: picture }) => {
    const [, x, y, width, height] = /^#xywh=(\d+),(\d+),(\d+),(\d+)/.exec(picture.hash) ?? [];
    if (!width || !/^https?:$/.test(picture.protocol)) return [];
    return [{ at: start, sheet: picture.href.split('#')[0]!, x: Number(x), y: Number(y), width: Number(width), height: Number(height) }];
  });
}

function Loaded({ url, seek, mark }: { url: string } & Pick<Props, 'seek' | 'mark'>) {
  const t = useRecordings();
  const common = useCommon();
  const [chosen, setChosen] = useState<number | null>(null);
  const board = useQuery({
    queryKey: ['storyboard', url], queryFn: ({ signal }) => load(url, signal), staleTime: 'static', retry: 1,
    placeholderData: keepPreviousData,
  });
  if (board.error) {
    return (
      <Alert variant="outline" color="gray" role="status" title={t('storyboardFailed')}>
        <Button size="compact-xs" variant="default" onClick={() => void board.refetch()}>{common('retry')}</Button>
      </Alert>
    );
  }
  if (!board.data) return <Waiting query={board} height={120} />;
  if (board.data.length === 0) return <Text size="sm" c="dimmed">{t('noStoryboard')}</Text>;
  const choose = (at: number) => { setChosen(at); seek(at); };
  return (
    <Stack gap="xs">
      <Text size="sm" c="dimmed">{t('storyboardText')}</Text>
      <Strip scenes={board.data} chosen={chosen} choose={choose} />
      {chosen !== null && (
        <Group gap="xs">
          <Text size="sm" role="status">{t('chosen', { time: clockText(chosen) })}</Text>
          {mark && (['from', 'to'] as const).map((end) => (
            <Button key={end} size="compact-xs" variant="default" onClick={() => mark(end, chosen)} data-testid={`clip-${end}`}>
              {t(end === 'from' ? 'clipFrom' : 'clipTo')}
            </Button>
          ))}
        </Group>
      )}
    </Stack>
  );
}

// The pictures in one line. It has one place in the order of the Tab key; the arrow keys go from picture to picture.
function Strip({ scenes, chosen, choose }: { scenes: Scene[]; chosen: number | null; choose: (at: number) => void }) {
  const t = useRecordings();
  const strip = useRef<HTMLDivElement>(null);
  const [focused, setFocused] = useState(0);
  const at = Math.min(focused, scenes.length - 1);
  const onKey = (event: KeyboardEvent) => {
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: scenes.length - 1 }[event.key];
    if (next === undefined || !scenes[next]) return;
    event.preventDefault();
    setFocused(next);
    strip.current?.querySelectorAll('button')[next]?.focus();
  };
  return (
    <div ref={strip} className="storyboard" role="group" aria-label={t('pictures')} onKeyDown={onKey}>
      {scenes.map((scene, index) => (
        <UnstyledButton key={scene.at} className="scene" tabIndex={index === at ? 0 : -1} aria-pressed={chosen === scene.at}
          aria-label={t('jump', { time: clockText(scene.at) })} onFocus={() => setFocused(index)} onClick={() => choose(scene.at)}>
          <Picture of={scene} />
          <Text span size="xs" ta="center">{clockText(scene.at)}</Text>
        </UnstyledButton>
      ))}
    </div>
  );
}

function Picture({ of: { sheet, x, y, width, height } }: { of: Scene }) {
  const background = { backgroundImage: `url("${sheet}")`, backgroundPosition: `-${x}px -${y}px` };
  return <span className="scene-picture" style={{ width, height, ...background }} />;
}
