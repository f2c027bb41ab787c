// The room page: /scenarios/conference/?room=<session>&token=<participant token>.
// It connects to this server's SFU, which redirects it to the node that has the room. The
// link has no server address, because a forged one could send camera pictures to an
// attacker's server. With &camera=off the page asks for no camera: a voice call.
import { Api, ApiError, type Closed, Room, RoomError, type Session, type Ticket, capture, readTicket } from '../rooms/index.js';
import { readBrand, showBrand } from '../brand/page.js';
import { byId, icon } from './dom.js';
import { type Luggage, Lobby } from './lobby.js';
import { Meeting } from './meeting.js';
import { chosen, presence, setPresence } from './memory.js';
import { Notices } from './notices.js';
import { type Saying, deviceTrouble, farewell, trouble, unanswered } from './sayings.js';

const asked = new URLSearchParams(location.search);
const given = asked.get('token');
if (given) {
  asked.delete('token');
  keepToken(given, asked);
}
const sfuUrl = `${location.origin.replace(/^http/, 'ws')}/sfu`;
const invite = inviteLink(asked.get('invite'));
const notices = new Notices();

/** Gives browser tests access to the room. */
const forTests: { meeting: Meeting | undefined } = { meeting: undefined };
Object.assign(globalThis, { showfloorRoom: forTests });

/** Stores the token in the state of the history entry, not in the URL: a reload keeps it, and it isn't visible. */
function keepToken(token: string, query: URLSearchParams): void {
  history.replaceState({ token }, '', `?${query}`);
}

/** Returns the invite link of the page's URL if it is a web address, not a script. */
function inviteLink(text: string | null): string | undefined {
  if (!text || !URL.canParse(text)) return undefined;
  const link = new URL(text);

  return link.protocol === 'https:' || link.origin === location.origin ? link.href : undefined;
}

function explain(): void {
  const { origin } = location;
  byId('how-session').textContent = `curl -s ${origin}/v1/me/sessions \\
  -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' \\
  -d '{"type": "conference", "name": "Weekly planning", "hostId": "ada"}'`;
  byId('how-token').textContent = `curl -s ${origin}/v1/me/sessions/$ID/token \\
  -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' \\
  -d '{"userId": "ada", "displayName": "Ada"}'`;
  byId('how-link').textContent = `${origin}/scenarios/conference/?room=$ID&token=$TOKEN`;
  const form = byId<HTMLFormElement>('enter');
  // A script reads the form: the browser would send the token in a URL, and it would be in the server's log.
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const fields = new FormData(form);
    const token = String(fields.get('token')).trim();
    const room = String(fields.get('room')).trim() || readTicket(token)?.room || '';
    keepToken(token, new URLSearchParams({ room }));
    location.reload();
  });
  byId('how').hidden = false;
}

/** Shows a screen with a title and a text. Resolves when its button is clicked, if it has one. */
function door(saying: Saying, mark: 'people' | 'lock' | 'close' | 'leave' = 'leave'): Promise<void> {
  for (const id of ['lobby', 'room', 'how']) byId(id).hidden = true;
  byId('door').hidden = false;
  byId('door-mark').replaceChildren(icon(mark));
  byId('door-title').textContent = saying.title;
  byId('door-text').textContent = saying.text;
  byId('door-leave').hidden = true;
  const again = byId('door-again');
  again.hidden = !saying.again;
  again.textContent = saying.again ?? '';
  byId('door-title').focus();

  return new Promise((resolve) => {
    again.onclick = () => {
      byId('door').hidden = true;
      resolve();
    };
  });
}

/** Shows the screen of the waiting room, or of a call that is ringing. */
function waits(name: string, isCall: boolean, leave: () => void): void {
  void door({
    title: isCall ? 'Ringing …' : 'You are in the waiting room',
    text: isCall ? 'The call begins when it is answered.' : `The host of ${name} will let you in. Keep this page open.`,
  }, 'people');
  const button = byId('door-leave');
  button.hidden = false;
  button.onclick = leave;
}

/**
 * Switches on again the devices that were on before a reload or before the move to another room. The browser may ask
 * the user again, so after 600 ms a screen says for which devices the page waits.
 */
async function repack(was: { microphone: boolean; camera: boolean }): Promise<Luggage> {
  const names = (['microphone', 'camera'] as const).filter((kind) => was[kind]);
  const late = setTimeout(() => void door({
    title: `Waiting for your ${names.join(' and ')}`, text: 'You are back in the room as soon as you answer the browser’s question.',
  }, 'people'), 600);
  const open = (kind: 'microphone' | 'camera'): Promise<MediaStreamTrack | undefined> =>
    was[kind] ? capture(kind, chosen()[kind]).catch((error: unknown) => {
      notices.say(deviceTrouble(error, kind));

      return undefined;
    }) : Promise.resolve(undefined);
  const [microphone, camera] = await Promise.all([open('microphone'), open('camera')]);
  clearTimeout(late);
  byId('door').hidden = true;

  return { microphone, camera };
}

class Visit {
  readonly #api: Api;

  constructor(
    private readonly token: string,
    /** The content of the token. Besides its own room, the token can open only that room's breakout rooms. */
    private readonly ticket: Ticket,
    private room: string,
  ) {
    this.#api = new Api(token);
  }

  /** run visits one room after the other, until the page is closed. */
  async run(): Promise<never> {
    for (;;) {
      try {
        await this.#visit();
      } catch (error) {
        await this.#refused(error);
      }
    }
  }

  async #visit(): Promise<void> {
    const session = await this.#look();
    const isCall = session?.type === 'call';
    if (isCall && session.state === 'cancelled') return door(unanswered(session.hostId === this.ticket.userId), 'leave');
    if (session?.state === 'ended') return door(farewell({ code: 'ended', message: '' }, isCall), 'leave');
    const was = presence(this.room);
    const voiceOnly = asked.get('camera') === 'off';
    const luggage = was ? await repack(was) : await new Lobby(session, this.#guise(), voiceOnly, !this.room.startsWith('sess_')).show();
    const meeting = new Meeting({
      api: this.#api, token: this.token, sfuUrl, roomId: this.room, session, notices, invite, waits: (leave) => waits(session?.name ?? 'the room', isCall, leave),
    });
    forTests.meeting = meeting;
    const outcome = await meeting.run(luggage);
    if ('goTo' in outcome) return this.#move(outcome.goTo);
    const { closed } = outcome;
    const { room: home } = this.ticket;
    if (closed.code === 'ended' && this.room !== home) {
      setPresence(home, presence(this.room));
      setPresence(this.room, undefined);
      this.#move(home);
      notices.say('The breakout room was closed. You are back in the main room.');

      return;
    }
    if (closed.code !== 'shutdown') setPresence(this.room, undefined);
    const rang = isCall && closed.code === 'ended' && ['waiting', 'cancelled'].includes(meeting.room.session.state ?? '');
    await door(rang ? unanswered(session.hostId === this.ticket.userId) : farewell(closed, isCall), closed.code === 'locked' ? 'lock' : closed.code === 'kicked' ? 'close' : 'leave');
  }

  /**
   * look loads the session before the user joins; undefined for a stream's room or a breakout room. Their properties
   * come from the SFU after joining, and the page doesn't need them earlier.
   */
  async #look(): Promise<Session | undefined> {
    return this.room === this.ticket.room && this.room.startsWith('sess_') ? this.#api.session(this.room) : undefined;
  }

  /** guise returns the ticket for the lobby. In breakout rooms its role is guest, because all participants may speak there. */
  #guise(): Ticket {
    return this.room === this.ticket.room ? this.ticket : { ...this.ticket, role: 'guest' };
  }

  /** move changes the room, and the URL, so that a reload stays in the new room. */
  #move(room: string): void {
    this.room = room;
    const query = new URLSearchParams(location.search);
    query.set('room', room);
    history.replaceState(history.state, '', `?${query}`);
  }

  async #refused(error: unknown): Promise<void> {
    if (error instanceof ApiError && error.status >= 400 && error.status < 500 && error.status !== 429) {
      const code = await this.#why();

      return door(farewell({ code, message: '' }, false), code === 'kicked' ? 'close' : 'lock');
    }
    console.info(error);
    await door({ title: 'The room can’t be opened', text: trouble(error), again: 'Try again' }, 'close');
  }

  /** why returns the SFU's code for a refused token, which is more precise than the API's error. */
  async #why(): Promise<Closed['code']> {
    const room = new Room({ url: sfuUrl, token: this.token, room: this.room });
    try {
      await room.connect();
    } catch (error) {
      if (error instanceof RoomError) return error.code;
    }
    room.leave();

    return 'forbidden';
  }
}

const token = (history.state as { token?: string } | null)?.token ?? '';
const ticket = readTicket(token);
const room = asked.get('room');
showBrand(readBrand());
if (!token && !room) explain();
else if (!ticket) void door(farewell({ code: 'unauthenticated', message: '' }, false), 'lock');
else if (room) void new Visit(token, ticket, room).run();
else {
  // The server finds the tenant's brand by the room in the URL.
  asked.set('room', ticket.room);
  keepToken(token, asked);
  location.reload();
}
