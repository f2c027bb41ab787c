/** A show for a calendar. */
export interface Entry {
  id: string;
  title: string;
  start: string;
  url: string;
}

const plannedMs = 3_600_000; // the length of a show isn't known in advance

/** Writes a calendar file (RFC 5545) with one event. */
export function calendar(entry: Entry, now = new Date()): string {
  const at = (time: Date): string => time.toISOString().replace(/[-:]|\.\d{3}/g, '');
  const start = new Date(entry.start);
  const lines = [
    'BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//Showfloor//Show//EN', 'BEGIN:VEVENT', `UID:${entry.id}@showfloor`, `DTSTAMP:${at(now)}`,
    `DTSTART:${at(start)}`, `DTEND:${at(new Date(start.getTime() + plannedMs))}`, `SUMMARY:${escape(entry.title)}`, `URL:${entry.url}`,
    'BEGIN:VALARM', 'ACTION:DISPLAY', `DESCRIPTION:${escape(entry.title)}`, 'TRIGGER:-PT10M', 'END:VALARM', 'END:VEVENT', 'END:VCALENDAR',
  ];

  return lines.map(fold).join('\r\n') + '\r\n';
}

/** escape writes a TEXT (RFC 5545, section 3.3.11), which has no control characters but tabs. */
function escape(text: string): string {
  return text.replace(/[\\;,]/g, '\\$&').replace(/\r\n?|\n/g, '\\n').replace(/[\0-\x08\x0b-\x1f\x7f]/g, '');
}

/** fold breaks lines of more than 75 octets (RFC 5545, section 3.1). A character has at most 4. */
function fold(line: string): string {
  return [...line].reduce<string[]>((parts, character) => {
    const last = parts.at(-1) ?? '';
    if (new TextEncoder().encode(last + character).length > 74) return [...parts, character];

    return [...parts.slice(0, -1), last + character];
  }, ['']).join('\r\n ');
}

/** Saves the calendar file on the viewer's device. */
export function saveCalendar(entry: Entry): void {
  const url = URL.createObjectURL(new Blob([calendar(entry)], { type: 'text/calendar' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = 'show.ics';
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
