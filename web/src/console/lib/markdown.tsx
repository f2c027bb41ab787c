import { Code, List, Stack, Text } from '@mantine/core';
import type { ReactNode } from 'react';

import { safeLink } from './format.js';

// Bold, italic, code and links of a line.
const inline = /\*\*([^*]+)\*\*|\*([^*]+)\*|`([^`]+)`|\[([^\]]+)\]\(([^)\s]+)\)/g;

function spans(text: string): ReactNode[] {
  const parts: ReactNode[] = [];
  let from = 0;
  for (const found of text.matchAll(inline)) {
    const [whole, bold, italic, code, label, url] = found;
    parts.push(text.slice(from, found.index));
    const key = found.index;
    const href = safeLink(url);
    if (bold) parts.push(<b key={key}>{bold}</b>);
    else if (italic) parts.push(<i key={key}>{italic}</i>);
    else if (code) parts.push(<Code key={key}>{code}</Code>);
    else parts.push(href ? <a key={key} className="link" href={href} target="_blank" rel="noreferrer">{label}</a> : whole);
    from = found.index + whole.length;
  }
  return [...parts, text.slice(from)];
}

// Markdown as React elements: paragraphs, headings, lists, and the marks of inline. HTML stays text.
export function Markdown({ text }: { text: string }) {
  const blocks = text.trim().split(/\n{2,}/);
  return (
    <Stack gap="xs">
      {blocks.map((block, index) => {
        const heading = /^#{1,6}\s+(.*)$/.exec(block);
        if (heading) return <Text key={index} fw={700}>{spans(heading[1] ?? '')}</Text>;
        const lines = block.split('\n');
        const marker = /^\s*(?:[-*]|\d+\.)\s+/;
        if (lines.every((line) => marker.test(line))) {
          return (
            <List key={index} size="sm" type={/^\s*\d/.test(block) ? 'ordered' : 'unordered'}>
              {lines.map((line, at) => <List.Item key={at}>{spans(line.replace(marker, ''))}</List.Item>)}
            </List>
          );
        }
        return <Text key={index} size="sm" className="prose">{spans(block)}</Text>;
      })}
    </Stack>
  );
}
