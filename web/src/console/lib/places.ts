// A page of a console, as the navigation and the command palette show it.
export interface Place { path: string; label: string }

// Pages under a heading of the navigation. A group without a label has no heading.
export interface PlaceGroup { label?: string; places: Place[] }

// Leaves out the pages that the role may not open, and the groups that have none.
export function visible(groups: { label?: string; places: (Place | false)[] }[]): PlaceGroup[] {
  return groups.map(({ label, places }) => ({ label, places: places.filter((place) => place !== false) })).filter(({ places }) => places.length > 0);
}
