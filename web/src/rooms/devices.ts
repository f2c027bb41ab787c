/** The available cameras, microphones and loudspeakers, by kind. */
export interface Devices {
  microphones: MediaDeviceInfo[];
  cameras: MediaDeviceInfo[];
  /** Empty if the browser can't select a loudspeaker. */
  speakers: MediaDeviceInfo[];
}

/** Lists the devices. They have labels only after the user has allowed a microphone or camera. */
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
 * Opens a microphone or camera. The browser may ask the user for permission.
 *
 * @throws a DOMException: NotAllowedError, NotFoundError, NotReadableError …
 */
export async function capture(kind: 'microphone' | 'camera', deviceId?: string): Promise<MediaStreamTrack> {
  // `ideal`, not `exact`: if the device has been unplugged, the browser opens another one.
  const device = deviceId ? { deviceId: { ideal: deviceId } } : {};
  const constraints: MediaStreamConstraints =
    kind === 'microphone'
      ? { audio: { ...device, echoCancellation: true, noiseSuppression: true, autoGainControl: true } }
      : { video: { ...device, width: { ideal: 1280 }, height: { ideal: 720 }, frameRate: { ideal: 30, max: 30 } } };
  const [track] = (await media().getUserMedia(constraints)).getTracks();
  if (!track) throw new DOMException('no track', 'NotFoundError');

  return track;
}

/** Captures a screen, window or tab that the user chooses, with its sound if the browser provides it. */
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
  // Browsers hide devices from pages that were loaded over plain http from another machine.
  if (!navigator.mediaDevices) throw new DOMException('this page needs https', 'SecurityError');

  return navigator.mediaDevices;
}

/**
 * Measures the volume of a microphone.
 *
 * @param hear is called about 15 times a second with the level: from 0 (silence) to 1 (the maximum)
 * @returns a function that stops the measurement
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
    // -60 dB, which is a quiet room, becomes 0, and 0 dB becomes 1.
    hear(Math.min(1, Math.max(0, 1 + Math.log10(power + 1e-9) / 6)));
  }, 66);

  return () => {
    clearInterval(timer);
    source.disconnect();
    void context.close();
  };
}
