// Two participants. At each full second of the page's clock, ann's picture is white for 200 ms and her microphone beeps.
globalThis.people = (async () => {
  const { Room } = await import('/assets/rooms.js');
  const url = location.origin.replace(/^http/, 'ws') + '/sfu';
  const painted = (color, flashes) => {
    const canvas = Object.assign(document.body.appendChild(document.createElement('canvas')), { width: 640, height: 360 });
    const paint = canvas.getContext('2d');
    setInterval(() => {
      paint.fillStyle = flashes && performance.now() % 1000 < 200 ? 'white' : color;
      paint.fillRect(0, 0, 640, 360);
      paint.fillStyle = color; // a picture that doesn't change isn't captured
      paint.fillRect(performance.now() % 640, 350, 10, 10);
    }, 20);

    return canvas.captureStream(30).getVideoTracks()[0];
  };
  const beeps = () => {
    const audio = new AudioContext({ latencyHint: 'interactive', sampleRate: 48000 });
    const [tone, gain, out] = [audio.createOscillator(), audio.createGain(), audio.createMediaStreamDestination()];
    tone.frequency.value = 1000;
    gain.gain.value = 0;
    tone.connect(gain).connect(out);
    tone.start();
    let next = 0;
    setInterval(() => {
      const now = performance.now();
      const begin = Math.ceil((now + 50) / 1000) * 1000;
      if (begin === next || begin - now > 500) return;
      next = begin;
      const at = audio.currentTime + (begin - now) / 1000;
      gain.gain.setValueAtTime(0.5, at);
      gain.gain.setValueAtTime(0, at + 0.2);
    }, 100);

    return out.stream.getAudioTracks()[0];
  };
  const join = async (token, ...tracks) => {
    const room = new Room({ url, room: 'sess_1', token });
    for (const [source, track] of tracks) await room.publish(source, track);
    await room.connect();

    return room;
  };
  const ann = await join('ann', ['camera', painted('black', true)], ['microphone', beeps()]);
  const bob = await join('bob', ['camera', painted('blue', false)]);

  return { ann, bob };
})();
globalThis.people.then(() => (globalThis.here = true), (e) => (globalThis.failed = String(e)));
