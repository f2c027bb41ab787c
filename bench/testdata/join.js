// The script of BenchmarkJoin's tab: one Room publishes a camera. Others join one after
// the other and measure the time until they decode its first frame.
globalThis.joins = (async () => {
  const { Room, capture } = await import('/assets/rooms.js');
  const origin = location.origin.replace(/^http/, 'ws');
  const camera = await capture('camera');

  // first resolves with the time at which the video has shown a frame.
  const first = (video) => new Promise((resolve) => video.requestVideoFrameCallback(() => resolve(performance.now())));
  const screen = () => {
    const video = document.body.appendChild(document.createElement('video'));
    Object.assign(video, { muted: true, autoplay: true, playsInline: true, width: 640, height: 360 });
    video.style.position = 'fixed'; // in sight, or no frame of it is ever shown
    video.style.inset = '0 auto auto 0';

    return video;
  };

  return {
    async publish(room, token) {
      const host = new Room({ url: `${origin}/sfu`, room, token });
      await host.publish('camera', camera);
      await host.connect();
      await new Promise((resolve) => {
        host.on('local', () => host.local.get('camera').id && resolve());
      });
    },

    // From the first byte of the way in to the first frame on the screen.
    async join(room, token) {
      const video = screen();
      const start = performance.now();
      const guest = new Room({ url: `${origin}/sfu`, room, token });
      guest.on('media', (track) => track.kind === 'video' && guest.attach(track.id, video));
      const shown = first(video);
      await guest.connect();
      const took = (await shown) - start;
      guest.leave();
      video.remove();

      return took;
    },

    // The same between two peer connections of this page, without a server.
    async bare() {
      const video = screen();
      const start = performance.now();
      const [from, to] = [new RTCPeerConnection(), new RTCPeerConnection()];
      // Candidates wait until the other side has its description.
      let describe;
      const described = new Promise((resolve) => (describe = resolve));
      from.onicecandidate = async ({ candidate }) => candidate && (await described, to.addIceCandidate(candidate));
      to.onicecandidate = async ({ candidate }) => candidate && (await described, from.addIceCandidate(candidate));
      to.ontrack = ({ track }) => (video.srcObject = new MediaStream([track]));
      from.addTrack(camera);
      const shown = first(video);
      await from.setLocalDescription();
      await to.setRemoteDescription(from.localDescription);
      await to.setLocalDescription();
      await from.setRemoteDescription(to.localDescription);
      describe();
      const took = (await shown) - start;
      from.close();
      to.close();
      video.remove();

      return took;
    },
  };
})();
