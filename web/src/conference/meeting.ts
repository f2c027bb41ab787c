import {
  type Api, type Closed, type ConnectionQuality, type LocalSource, type Participant, QualityMeter, Realtime, type RealtimeRoom, Room, type Session, RoomError,
} from '../rooms/index.js';
import { readBrand, titled } from '../brand/page.js';
import type { Layout } from './arrange.js';
import { type Breakout, BreakoutsDialog, ask } from './breakouts.js';
import { Captions } from './captions.js';
import { Chat } from './chat.js';
import { Controls } from './controls.js';
import { byId, closeMenu, el, icon } from './dom.js';
import { showHearts } from './hearts.js';
import { Knocks } from './knocks.js';
import type { Luggage } from './lobby.js';
import { chosen, ownTile, presence, setOwnTile, setPresence } from './memory.js';
import type { Notices } from './notices.js';
import { Panel, type PanelName } from './panel.js';
import { People } from './people.js';
import { RecordingSwitch } from './recording.js';
import { deviceTrouble, sentence, trouble } from './sayings.js';
import { type OwnTile, Stage } from './stage.js';
import { TimeLeft } from './time-left.js';

/** The options of a Meeting. */
export interface MeetingOptions {
  api: Api;
  token: string;
  sfuUrl: string;
  roomId: string;
  session: Session | undefined;
  notices: Notices;
  /** The link with which others are invited, from the page's URL; undefined if the page doesn't know one. */
  invite: string | undefined;
  /** Called when the participant has to wait for admission. */
  waits(leave: () => void): void;
}

/** How a meeting ended: the room was closed, or the user goes to another room. */
export type Outcome = { closed: Closed } | { goTo: string };

const breakoutSec = 10; // until assigned participants move by themselves

/** One visit to one room, from joining to the end. */
export class Meeting {
  readonly room: Room;
  readonly #realtime: Realtime;
  #channel: RealtimeRoom | undefined;
  #stage: Stage | undefined;
  #quality: QualityMeter | undefined;
  #controls: Controls | undefined;
  #panel: Panel | undefined;
  #people: People | undefined;
  #knocks: Knocks | undefined;
  #unread = 0;
  #frame = 0;
  #countdown: ReturnType<typeof setInterval> | undefined;
  #breakouts: readonly Breakout[] = [];
  #breakoutNews = 0; // the number of changes that the realtime channel reported
  #offered: string | undefined;
  #timeLeft: TimeLeft | undefined;
  readonly #captions = new Captions();
  #goTo: string | undefined;
  readonly #known = new Map<string, string>(); // names of the participants in the room, by user id

  constructor(private readonly options: MeetingOptions) {
    const { sfuUrl: url, token, roomId, session } = options;
    this.room = new Room({ url, token, room: roomId });
    this.#realtime = new Realtime({ token, room: roomId });
    if (session) {
      const { layout, locked, waitingRoom, spotlightUserId, name, type, hostId, parentSessionId, recordingEnabled, transcriptionEnabled, recordingId, state } = session;
      this.room.learn({
        layout, locked, waitingRoom, spotlightUserId, name, type, hostId, parentSessionId, recordingEnabled, transcriptionEnabled, recordingId, state,
      });
    }
  }

  /** Joins with the media from the lobby. Resolves when the meeting has ended. */
  async run(luggage: Luggage): Promise<Outcome> {
    const { room } = this;
    const over = room.next('closed');
    this.#listen();
    // Before connecting, so that the first offer has both tracks.
    if (luggage.microphone) await room.publish('microphone', luggage.microphone);
    if (luggage.camera) await room.publish('camera', luggage.camera);
    const { speaker } = chosen();
    if (speaker) void room.setSpeaker(speaker).catch(() => undefined); // the device was unplugged
    await room.connect().catch((error: unknown) => {
      if (!(error instanceof RoomError)) throw error; // the event "closed" has the reason, too
    });
    this.#remember();
    const closed = await over;
    this.#clean();

    return this.#goTo ? { goTo: this.#goTo } : { closed };
  }

  /** Goes to another room, with the same devices switched on. */
  goTo(room: string): void {
    this.#goTo = room;
    setPresence(room, presence(this.room.id) ?? { microphone: false, camera: false });
    this.room.leave();
  }

  #listen(): void {
    const { room, options: { notices } } = this;
    room.on('state', (state) => {
      if (state === 'waiting') this.options.waits(() => room.leave());
      if (state === 'joined') this.#joined();
      if (state === 'reconnecting') notices.keep('connection', 'The connection is lost. Reconnecting …');
      else notices.drop('connection');
      this.#soon();
    });
    for (const name of ['welcome', 'audience', 'track', 'untrack', 'media', 'speakers', 'session', 'fallback'] as const) room.on(name, () => this.#soon());
    room.on('participant', (participant) => this.#met(participant));
    // A replaced participant has joined by another connection, for example after a reload, and is not announced.
    room.on('left', ({ userId, reason }) => (reason === 'replaced' ? this.#soon() : this.#announce(userId, 'left')));
    room.on('local', () => {
      this.#remember();
      this.#soon();
    });
    room.on('muted', () => notices.say('A host muted you.', [{ label: 'Unmute', run: () => this.#device('microphone', () => room.setMicrophone(true)) }]));
    room.on('ended', (source) => this.#deviceEnded(source));
    room.on('silenced', () => notices.keep('sound', 'The browser blocks sound until you click.', [{ label: 'Turn sound on', run: () => void room.startSound() }]));
    room.on('refused', ({ what, code, message }) => {
      // Only the host needs to know that WebRTC can't show the stream; all others see it by HLS.
      if (room.kind === 'stream' && code === 'unsupported_codec' && !what && room.self?.role !== 'host') return;
      notices.say(sentence(message));
    });
  }

  /** joined builds the room's page after the first join. */
  #joined(): void {
    if (this.#stage) return;
    const { room, options: { api, notices } } = this;
    for (const id of ['lobby', 'door']) byId(id).hidden = true;
    byId('room').hidden = false;
    this.#channel = this.#realtime.room(room.id);
    const act = (work: Promise<unknown>, done?: string): Promise<void> =>
      work.then(() => notices.say(done ?? ''), (error: unknown) => notices.say(trouble(error)));
    const recording = new RecordingSwitch(api, room, act);
    const chat = new Chat(api, room, this.#channel, ({ authorName, body }) => this.#heard(authorName, body ?? ''));
    this.#people = new People(api, room, {
      act,
      confirm: ask,
      recording,
      openBreakouts: () => {
        void this.#findBreakouts().catch(() => undefined).then(() => {
          if (room.state !== 'closed') new BreakoutsDialog(api, room, { open: this.#breakouts, act, goTo: (id) => this.goTo(id) }).open();
        });
      },
    });
    const people = this.#people;
    this.#knocks = new Knocks(api, room, notices, {
      act, deny: (p) => people.remove(p), showPeople: () => this.#panel?.open('people'),
    });
    this.#quality = new QualityMeter(room, () => this.#rated());
    this.#stage = new Stage(room, this.#quality);
    this.#stage.ownTile = ownTile();
    this.#controls = this.#makeControls(act, recording);
    this.#panel = new Panel({ chat: chat.element, people: this.#people.element }, (before) => this.#paneled(before, chat));
    this.#hearChannel(this.#channel);
    for (const { userId, displayName, state } of room.participants.values()) if (state === 'joined') this.#known.set(userId, displayName);
    if (room.session.parentSessionId) void this.#showTimeLeft();
    byId('back').onclick = () => room.session.parentSessionId && this.goTo(room.session.parentSessionId);
    this.#render();
  }

  async #showTimeLeft(): Promise<void> {
    const { room, options: { api, notices } } = this;
    const session = await api.session(room.id).catch(() => undefined); // without it the page works as well
    if (session?.closesAt && room.state !== 'closed') this.#timeLeft = new TimeLeft(Date.parse(session.closesAt), () => api.now(), notices);
  }

  #makeControls(act: (work: Promise<unknown>, done?: string) => Promise<void>, recording: RecordingSwitch): Controls {
    const { room, options: { api } } = this;
    const meeting = this;

    return new Controls(room, {
      setMicrophone: (on, device) => this.#device('microphone', () => room.setMicrophone(on, device)),
      setCamera: (on, device) => this.#device('camera', () => room.setCamera(on, device)),
      setScreen: (on) => this.#device('screen', () => room.setScreen(on)),
      toggleHand: () => {
        const { self } = room;
        if (self) void act(self.handRaised ? api.lowerHand(room.id, self.userId) : api.raiseHand(room.id, self.userId));
      },
      recording,
      captions: this.#captions,
      sendHeart: () => this.#channel?.sendHearts(),
      togglePanel: (name) => this.#panel?.toggle(name),
      get layout(): Layout | undefined {
        return meeting.#stage?.layout;
      },
      set layout(layout: Layout | undefined) {
        if (meeting.#stage) meeting.#stage.layout = layout;
        meeting.#soon();
      },
      get ownTile(): OwnTile {
        return meeting.#stage?.ownTile ?? 'shown';
      },
      set ownTile(is: OwnTile) {
        setOwnTile(is);
        if (meeting.#stage) meeting.#stage.ownTile = is;
        meeting.#soon();
      },
      get float() {
        return meeting.#floats();
      },
      get copyInvite() {
        return meeting.#copiesInvite();
      },
      leave: () => this.#leave(),
      endForAll: () => {
        void ask('End the session for everybody?', 'End it').then((yes) => yes && void act(api.endSession(room.id)));
      },
    });
  }

  #floats(): (() => void) | undefined {
    const { notices } = this.options;
    if (document.pictureInPictureElement) return () => void document.exitPictureInPicture();
    const video = document.pictureInPictureEnabled ? this.#stage?.video : undefined;

    return video && (() => {
      video.requestPictureInPicture().catch(() => notices.say('The browser can’t show this video in a window of its own.'));
    });
  }

  /** copiesInvite returns the function that copies the invite link. Participants can't invite with their own link: it has their token. */
  #copiesInvite(): (() => void) | undefined {
    const { room, options: { invite, notices } } = this;
    if (!invite || !['host', 'cohost'].includes(room.self?.role ?? '')) return undefined;

    return () => {
      navigator.clipboard.writeText(invite).then(() => notices.say('The invite link is copied.'), () => notices.say(`The browser can’t copy the link: ${invite}`));
    };
  }

  /** rated reports a poor connection of the local participant to screen readers too. */
  #rated(): void {
    const own = this.#quality?.of(this.room.self?.userId ?? '');
    if (own !== this.#ownQuality && own === 'poor') byId('announce').textContent = 'Your connection is poor';
    this.#ownQuality = own;
    this.#soon();
  }

  #ownQuality: ConnectionQuality | undefined;

  #leave(): void {
    const { room, options: { api } } = this;
    // Hanging up ends a call for both parties.
    if (room.session.type === 'call' && room.self) void api.endCall(room.id, room.self.userId).catch(() => undefined);
    setPresence(room.id, undefined);
    room.leave();
  }

  #device(what: 'microphone' | 'camera' | 'screen', work: () => Promise<void>): void {
    work().catch((error: unknown) => this.options.notices.say(deviceTrouble(error, what)));
  }

  #deviceEnded(source: LocalSource): void {
    const { self } = this.room;
    const may = { microphone: self?.perms.audio, camera: self?.perms.video, screen: false, 'screen-audio': false }[source];
    if (may) this.options.notices.say(`Your ${source} stopped. Is it still plugged in?`);
    this.#soon();
  }

  /** met handles a participant who joined or changed; the local participant's permissions may have changed. */
  #met(participant: Participant): void {
    const { room } = this;
    if (participant.userId === room.self?.userId) this.#selfChanged(participant);
    else if (participant.state === 'joined') this.#announce(participant.userId, 'joined');
    this.#soon();
  }

  #mayPublish: boolean | undefined;

  #selfChanged({ perms, state }: Participant): void {
    const { room, options: { notices } } = this;
    const may = perms.audio || perms.video;
    const before = this.#mayPublish;
    this.#mayPublish = may;
    if (before === undefined || before === may || state !== 'joined') return;
    if (!may) {
      notices.drop('stage');
      notices.say('You are in the audience now.');

      return;
    }
    notices.keep('stage', 'You are on stage. The others see and hear you once you switch on:', [
      {
        label: 'Microphone and camera',
        run: () => {
          this.#device('microphone', () => room.setMicrophone(true));
          this.#device('camera', () => room.setCamera(true));
        },
      },
    ], { onDismiss: () => undefined });
  }

  /** announce reports joins and departures to screen readers. */
  #announce(userId: string, what: 'joined' | 'left'): void {
    this.#soon();
    if (this.#known.has(userId) === (what === 'joined')) return; // only changed, or not announced before
    const name = this.room.participants.get(userId)?.displayName ?? this.#known.get(userId) ?? userId;
    if (what === 'joined') this.#known.set(userId, name);
    else this.#known.delete(userId);
    byId('announce').textContent = `${name} ${what}`;
  }

  #hearChannel(channel: RealtimeRoom): void {
    const { room } = this;
    channel.on('heart', ({ count }) => showHearts(count));
    channel.on('session.updated', ({ layout, locked, waitingRoom, transcriptionEnabled }) => room.learn({ layout, locked, waitingRoom, transcriptionEnabled }));
    channel.on('session.caption', (caption) => this.#captions.show(caption));
    channel.on('session.spotlight', ({ userId }) => room.learn({ spotlightUserId: userId }));
    channel.on('session.started', ({ state }) => room.learn({ state }));
    channel.on('subscribed', ({ recovered }) => recovered || void this.#findBreakouts().catch(() => undefined));
    channel.on('session.breakouts.created', ({ breakouts }) => {
      this.#breakoutNews++;
      this.#breakouts = [...this.#breakouts, ...breakouts];
      this.#soon();
      this.#offerBreakout(this.#mine(breakouts), breakoutSec);
    });
    channel.on('session.breakouts.closed', ({ breakoutIds }) => {
      this.#breakoutNews++;
      this.#breakouts = this.#breakouts.filter(({ id }) => !breakoutIds.includes(id));
      this.#soon();
      if (breakoutIds.includes(this.#offered ?? '')) this.#offerBreakout(this.#mine(this.#breakouts), 0);
    });
  }

  /** findBreakouts loads the open breakout rooms: the realtime channel reports only changes. */
  async #findBreakouts(): Promise<void> {
    const { room, options: { api } } = this;
    if (room.kind !== 'session' || room.session.parentSessionId) return;
    let news: number;
    do {
      news = this.#breakoutNews;
      const { breakouts = [] } = await api.session(room.id);
      this.#breakouts = news === this.#breakoutNews ? breakouts : this.#breakouts;
    } while (news !== this.#breakoutNews);
    this.#soon();
    const mine = this.#mine(this.#breakouts);
    if (mine?.id !== this.#offered) this.#offerBreakout(mine, 0);
  }

  /** mine returns the breakout room to which the local participant is assigned. */
  #mine(rooms: readonly Breakout[]): Breakout | undefined {
    return rooms.find(({ userIds }) => userIds.includes(this.room.self?.userId ?? ''));
  }

  /** offerBreakout offers to go to a breakout room, and goes after `seconds`; 0 waits for a click. undefined withdraws the offer. */
  #offerBreakout(breakout: { id: string; name: string } | undefined, seconds: number): void {
    const { notices } = this.options;
    clearInterval(this.#countdown);
    this.#offered = breakout?.id;
    if (!breakout) return notices.drop('breakout');
    const short = breakout.name.split(' – ').at(-1) ?? breakout.name;
    const go = (): void => {
      clearInterval(this.#countdown);
      this.goTo(breakout.id);
    };
    const show = (): void => {
      if (seconds === 0) return notices.keep('breakout', `${short} is open for you.`, [{ label: 'Go there', run: go }]);
      notices.keep('breakout', `You are going to ${short} in`, [
        { label: 'Go now', run: go },
        { label: 'Stay here', run: () => this.#offerBreakout(breakout, 0) },
      ], { timer: `${seconds} s` });
    };
    show();
    if (seconds === 0) return;
    this.#countdown = setInterval(() => {
      seconds--;
      if (seconds === 0) go();
      else show();
    }, 1000);
  }

  #heard(author: string, body: string): void {
    if (this.#panel?.name === 'chat') return;
    this.#unread++;
    byId('announce').textContent = `${author} writes: ${body}`;
    this.#soon();
  }

  #paneled(before: PanelName | undefined, chat: Chat): void {
    if (this.#panel?.name === 'chat') {
      this.#unread = 0;
      chat.opened();
    } else if (!this.#panel?.name && before) {
      this.#controls?.focus(before);
    }
    this.#render();
  }

  /** remember stores which devices are on, for a reload. */
  #remember(): void {
    const { room } = this;
    if (room.state === 'joined' || room.state === 'waiting') {
      setPresence(room.id, { microphone: room.isOn('microphone'), camera: room.isOn('camera') });
    }
  }

  #soon(): void {
    if (this.#frame) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      this.#render();
    });
  }

  #render(): void {
    const { room } = this;
    if (!this.#stage || room.state === 'closed') return;
    this.#mayPublish ??= room.self && (room.self.perms.audio || room.self.perms.video);
    const { session } = room;
    const name = session.name ?? 'Live room';
    byId('room-name').textContent = name;
    document.title = titled(name, readBrand());
    const back = byId('back');
    back.hidden = !session.parentSessionId;
    if (!back.hidden && !back.hasChildNodes()) back.append(icon('back'), 'Main room');
    this.#renderBadges();
    this.#people?.render();
    this.#knocks?.render(this.#panel?.name === 'people');
    this.#controls?.render({ unread: this.#unread, asks: this.#people?.asks ?? 0, panel: this.#panel?.name });
    this.#stage.render();
    this.#renderAlone();
  }

  #renderBadges(): void {
    const { session, audience, kind } = this.room;
    const badges = [
      session.recording && el('span', { class: 'badge-rec' }, 'Recording'),
      session.onAir && el('span', { class: 'badge-rec', id: 'on-air', title: 'The session is broadcast into a stream.' }, 'On air'),
      !session.recording && session.recordingEnabled && el('span', { class: 'badge-rec' }, 'Recorded'),
      session.transcriptionEnabled && el('span', { class: 'badge-text', title: 'A transcript of what is spoken is kept, and a summary is written after the end.' }, 'Transcript'),
      session.locked && el('span', { class: 'badge-lock' }, icon('lock'), el('span', { class: 'unseen' }, 'Locked')),
      kind === 'stream' && el('span', { class: 'badge-rec' }, 'Live'),
    ].filter((b): b is HTMLSpanElement => b !== false && b !== undefined);
    byId('badges').replaceChildren(...badges);
    const viewers = byId('audience');
    viewers.hidden = audience === 0;
    viewers.textContent = audience === 1 ? '1 viewer' : `${audience} viewers`;
  }

  #renderAlone(): void {
    const { room } = this;
    const others = [...room.participants.values()].some((p) => p.userId !== room.self?.userId && p.state === 'joined' && p.role !== 'viewer');
    const alone = byId('alone');
    alone.hidden = others || room.kind === 'stream';
    const text = room.session.type === 'call'
      ? room.session.state === 'waiting' ? 'Calling …' : 'Waiting for the other person'
      : this.#breakouts.some(({ userIds }) => userIds.some((id) => id !== room.self?.userId)) ? 'Everyone else is in a breakout room'
      : room.self?.perms.video ? 'Nobody else is here yet' : 'Nobody is on stage yet';
    if (alone.textContent !== text) alone.textContent = text;
  }

  #clean(): void {
    clearInterval(this.#countdown);
    this.#timeLeft?.stop();
    this.#captions.close();
    cancelAnimationFrame(this.#frame);
    closeMenu();
    for (const dialog of document.querySelectorAll('dialog')) dialog.remove();
    this.#realtime.close();
    this.#controls?.close();
    this.#quality?.close();
    this.#panel?.remove();
    this.#stage?.close();
    this.options.notices.clear();
    byId('room').hidden = true;
  }
}
