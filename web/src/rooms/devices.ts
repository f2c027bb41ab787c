/** Cameras, microphones and loudspeakers that there are, by kind. */
export interface Devices {
  microphones: MediaDeviceInfo[];
  cameras: MediaDeviceInfo[];
  /** Empty where the browser can't choose. */
  speakers: MediaDeviceInfo[];
}

/** Lists the devices. They have names once a microphone or camera was allowed. */
export async function listDevices(): Promise<Devices> {
  const all = (await navigator.mediaDevices?.enumerateDevices?.()) ?? [];
  const of = (kind: MediaDeviceKind): MediaDeviceInfo[] => all.filter((device) => device.kind === kind && device.deviceId);

  return {
    microphones: of('audioinput'),
    cameras: of('videoinput'),
    speakers: 'setSinkId' in HTMLMediaElement.prototype ? of('audiooutput') : [],
  };
}

/**
 * Asks for a microphone or camera.
 *
 * @throws a DOMException: NotAllowedError, NotFoundError, NotReadableError …
 */
export async function capture(kind: 'microphone' | 'camera', deviceId?: string): Promise<MediaStreamTrack> {
  // One that was unplugged since is replaced by another.
  const device = deviceId ? { deviceId: { ideal: deviceId } } : {};
  const constraints: MediaStreamConstraints =
    kind === 'microphone'
      ? { audio: { ...device, echoCancellation: true, noiseSuppression: true, autoGainControl: true } }
      : { video: { ...device, width: { ideal: 1280 }, height: { ideal: 720 }, frameRate: { ideal: 30, max: 30 } } };
  const [track] = (await media().getUserMedia(constraints)).getTracks();
  if (!track) throw new DOMException('no track', 'NotFoundError');

  return track;
}

/** Asks for a screen, window or tab, and its sound if it has one. */
export async function captureScreen(): Promise<{ video: MediaStreamTrack; audio: MediaStreamTrack | undefined }> {
  const stream = await media().getDisplayMedia({ video: { frameRate: { ideal: 15, max: 30 } }, audio: true });
  const [video] = stream.getVideoTracks();
  if (!video) throw new DOMException('no track', 'NotFoundError');
  video.contentHint = 'detail';

  return { video, audio: stream.getAudioTracks()[0] };
}

/** Whether this browser can share a screen; phones can't. */
export function canShareScreen(): boolean {
  return typeof navigator.mediaDevices?.getDisplayMedia === 'function';
}

function media(): MediaDevices {
  // Browsers hide devices from pages that came by plain http from another machine.
  if (!navigator.mediaDevices) throw new DOMException('this page needs https', 'SecurityError');

  return navigator.mediaDevices;
}

/**
 * Measures how loud a microphone is.
 *
 * @param hear gets the level some 15 times a second: 0 is silence, 1 as loud as can be
 * @returns a function that ends it
 */
export function measureLevel(track: MediaStreamTrack, hear: (level: number) => void): () => void {
  const context = new AudioContext();
  const analyser = context.createAnalyser();
  analyser.fftSize = 1024;
  const source = context.createMediaStreamSource(new MediaStream([track]));
  source.connect(analyser);
  const samples = new Float32Array(analyser.fftSize);
  const timer = setInterval(() => {
    analyser.getFloatTimeDomainData(samples);
    const power = samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length;
    // From -60 dB, which is a quiet room, to 0 dB.
    hear(Math.min(1, Math.max(0, 1 + Math.log10(power + 1e-9) / 6)));
  }, 66);

  return () => {
    clearInterval(timer);
    source.disconnect();
    void context.close();
  };
}
