import { TextInput } from '@mantine/core';

const two = (n: number) => String(n).padStart(2, '0');

// A time in the user's time zone, as an input of the browser has it.
function local(at: string | null): string {
  if (!at) return '';
  const day = new Date(at);
  return `${String(day.getFullYear()).padStart(4, '0')}-${two(day.getMonth() + 1)}-${two(day.getDate())}T${two(day.getHours())}:${two(day.getMinutes())}`;
}

export interface MomentInputProps {
  label: string;
  hint?: string;
  name: string;
  value: string | null;
  error?: string;
  required?: boolean;
  // It has the focus when its dialog opens.
  focused?: boolean;
  change: (at: string | null) => void;
}

// A date with a time, or none.
export function MomentInput({ label, hint, name, value, error, required, focused, change }: MomentInputProps) {
  return (
    <TextInput type="datetime-local" label={label} description={hint} name={name} error={error} value={local(value)}
      required={required} data-autofocus={focused || undefined}
      onChange={({ currentTarget: { value: next } }) => {
        if (next === '') change(null);
        else if (!Number.isNaN(Date.parse(next))) change(new Date(next).toISOString());
      }} />
  );
}
