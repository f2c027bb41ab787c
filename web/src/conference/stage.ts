import type { Participant, QualityMeter, Room } from '../rooms/index.js';
import { type Layout, arrange } from './arrange.js';
import { byId, el } from './dom.js';
import { Tile } from './tile.js';

/** Where the local participant's own tile is: with the others, large, or nowhere. The others see no difference. */
export type OwnTile = 'shown' | 'pinned' | 'hidden';

/** The tiles and their positions. */
export class Stage {
  /** The layout that the user has chosen; undefined for the host's. */
  layout: Layout | undefined;
  ownTile: OwnTile = 'shown';
  readonly #tiles = new Map<string, Tile>();
  readonly #stage = byId('stage');
  readonly #floor = byId('tiles');
  readonly #more = el('p', { class: 'tiles-more', hidden: true });
  readonly #size = new ResizeObserver(() => this.render());
  #speaker: string | undefined; // user id of the last speaker, other than the local participant

  constructor(
    private readonly room: Room,
    private readonly quality: QualityMeter,
  ) {
    this.#floor.replaceChildren(this.#more);
    this.#size.observe(this.#stage);
  }

  /** The layout of the room: the user's, the host's or the default. */
  get current(): Layout {
    return this.layout ?? this.room.session.layout ?? (this.room.kind === 'stream' ? 'spotlight' : 'grid');
  }

  /** Updates all tiles to the current state. */
  render(): void {
    const { room } = this;
    const loud = new Set(room.speakers.filter((s) => s.level > 0).map((s) => s.userId));
    const loudest = room.speakers.find((s) => s.level > 0 && s.userId !== room.self?.userId);
    if (loudest) this.#speaker = loudest.userId;
    this.#keep(this.#wanted());

    const self = this.#ownKey();
    const main = this.#pinned() ?? this.#main();
    const layout = this.#effective(main);
    // While a shared screen is large, the camera of the participant who shares it is one of the other tiles.
    const keys = [...this.#tiles.keys()];
    const { rects, height, more } = arrange(layout, this.#stage.clientWidth, this.#stage.clientHeight, keys, main, main === self ? undefined : self);
    this.#floor.style.height = `${height}px`;
    for (const [key, tile] of this.#tiles) {
      tile.render(room.participants.get(tile.userId), loud.has(tile.userId), this.quality.of(tile.userId));
      tile.place(rects.get(key), layout !== 'grid' && key !== main);
      tile.element.classList.toggle('main', layout !== 'grid' && key === main);
    }
    this.#more.hidden = more === 0;
    this.#more.textContent = `+${more} more`;
    this.#stage.dataset['layout'] = layout;
  }

  /** The video that is the most important one, without the local participant's own; undefined if none is shown. */
  get video(): HTMLVideoElement | undefined {
    const main = this.#tiles.get(this.#main() ?? '');
    const others = [...this.#tiles].filter(([key, tile]) => key !== this.#ownKey() && !tile.element.hidden).map(([, tile]) => tile);

    return [main, ...others].find((tile) => tile && others.includes(tile) && tile.video)?.video;
  }

  close(): void {
    this.#size.disconnect();
    for (const tile of this.#tiles.values()) tile.remove();
    this.#tiles.clear();
  }

  /** effective returns the layout to show. A shared screen or the spotlight turns the host's grid into a sidebar, not the user's grid. */
  #effective(main: string | undefined): Layout {
    const layout = this.current;
    if (this.#pinned() && (layout === 'grid' || layout === 'spotlight')) return 'sidebar';
    if (layout !== 'grid' || this.layout === 'grid') return layout;

    return main && (main.endsWith('/screen') || this.room.session.spotlightUserId) ? 'sidebar' : 'grid';
  }

  #ownKey(): string | undefined {
    return this.room.self && keyOf(this.room.self.userId, 'camera');
  }

  /** pinned returns the own tile's key if it is pinned. */
  #pinned(): string | undefined {
    const own = this.#ownKey();

    return this.ownTile === 'pinned' && own && this.#tiles.has(own) ? own : undefined;
  }

  #main(): string | undefined {
    const { room } = this;
    const has = (key: string | undefined): string | undefined => (key && this.#tiles.has(key) ? key : undefined);
    const camera = (userId: string | null | undefined): string | undefined => (userId ? has(keyOf(userId, 'camera')) : undefined);
    const self = room.self?.userId ?? '';
    const screens = [...this.#tiles.keys()].filter((key) => key.endsWith('/screen'));
    const others = [...this.#tiles.keys()].filter((key) => key !== keyOf(self, 'camera'));
    const streams = others.filter((key) => key.endsWith('/stream-video'));

    return (
      screens.at(-1) ?? camera(room.session.spotlightUserId) ?? streams[0] ?? camera(this.#speaker)
      ?? (room.session.hostId === self ? undefined : camera(room.session.hostId)) ?? others[0]
      ?? [...this.#tiles.keys()][0]
    );
  }

  /** wanted lists the tiles: streams and screens, then all participants who may publish, the local participant last. */
  #wanted(): { userId: string; source: Tile['source'] }[] {
    const { room } = this;
    const self = room.self?.userId;
    const people = [...room.participants.values()].filter((p) => isOnStage(p) && (p.userId !== self || this.ownTile !== 'hidden')).sort((a, b) => Number(a.userId === self) - Number(b.userId === self));
    const shared = [...room.tracks.values()].filter((t) => t.kind === 'video' && t.source !== 'camera');

    return [
      ...(room.fallback && !shared.some((t) => t.source === 'stream-video') ? [{ userId: '', source: 'stream-video' as const }] : []),
      ...shared.map((t) => ({ userId: t.userId, source: t.source as Tile['source'] })),
      ...(self && room.local.has('screen') ? [{ userId: self, source: 'screen' as const }] : []),
      ...people.map(({ userId }) => ({ userId, source: 'camera' as const })),
    ];
  }

  #keep(wanted: { userId: string; source: Tile['source'] }[]): void {
    const keys = new Set(wanted.map(({ userId, source }) => keyOf(userId, source)));
    for (const [key, tile] of this.#tiles) {
      if (keys.has(key)) continue;
      tile.remove();
      this.#tiles.delete(key);
    }
    const before = new Map(this.#tiles);
    this.#tiles.clear(); // filled again below, in the wanted order
    for (const { userId, source } of wanted) {
      const key = keyOf(userId, source);
      const tile = before.get(key) ?? new Tile(this.room, userId, source);
      this.#tiles.set(key, tile);
      if (!tile.element.isConnected) this.#floor.append(tile.element);
    }
  }
}

function keyOf(userId: string, source: string): string {
  return `${userId}/${source}`;
}

function isOnStage({ perms, state }: Participant): boolean {
  return state === 'joined' && (perms.audio || perms.video || perms.screen);
}
