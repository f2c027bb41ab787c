export interface Change { field: string; before: string | null; after: string | null }

// The fields that differ between two objects, with their values as JSON; null for a field that is missing.
export function differences(before: Record<string, unknown> | null, after: Record<string, unknown> | null): Change[] {
  const text = (of: Record<string, unknown> | null, field: string) => (of && field in of ? JSON.stringify(of[field]) : null);
  const fields = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})]);
  return [...fields].sort().map((field) => ({ field, before: text(before, field), after: text(after, field) }))
    .filter((change) => change.before !== change.after);
}
