// Settings for SDPs and transceivers, independent of any connection.

/** The codec with which video is sent. */
export type VideoCodec = 'vp8' | 'h264' | 'vp9' | 'av1';

/**
 * Lets Opus send nothing during silence (DTX) and carry repair data (in-band FEC). The
 * receiver decides about both, so the parameters belong in the remote description.
 */
export function withQuietOpus(sdp: string): string {
  const type = /^a=rtpmap:(\d+) opus\/48000/im.exec(sdp)?.[1];
  if (!type) return sdp;
  const format = new RegExp(`^(a=fmtp:${type} )(.*)$`, 'm');
  if (!format.test(sdp)) {
    return sdp.replace(new RegExp(`^(a=rtpmap:${type} .*)$`, 'm'), `$1\r\na=fmtp:${type} usedtx=1;useinbandfec=1`);
  }

  return sdp.replace(format, (_, start: string, parameters: string) => {
    const kept = parameters.trim().split(';').filter((p) => p && !/^(usedtx|useinbandfec)=/.test(p.trim()));

    return start + [...kept, 'usedtx=1', 'useinbandfec=1'].join(';');
  });
}

/** The session id of a description (RFC 8866, 5.2), which all descriptions of one connection share. */
export function sessionId(sdp: string): string {
  return /^o=\S+ (\d+) /m.exec(sdp)?.[1] ?? '';
}

/** Sound with redundancy (RFC 2198): each packet repeats the frames before it. */
export type AudioRedundancy = 'red';

/** Returns the codecs with the wanted one first. The others stay, for a server that doesn't support it. */
export function preferred<Codec extends { mimeType: string }>(codecs: Codec[], wanted: VideoCodec | AudioRedundancy): Codec[] {
  const mime = wanted === 'red' ? 'audio/red' : `video/${wanted}`;
  const first = codecs.filter((c) => c.mimeType.toLowerCase() === mime);

  return [...first, ...codecs.filter((c) => !first.includes(c))];
}

/**
 * The simulcast layers of a camera picture, the smallest first: up to three, each
 * half as wide and high as the next, none under 160 pixels high.
 *
 * @param height of the picture that is captured, in pixels
 */
export function cameraLayers(height: number): RTCRtpEncodingParameters[] {
  const layers = [
    { rid: 'q', scaleResolutionDownBy: 4, maxBitrate: 150_000 },
    { rid: 'h', scaleResolutionDownBy: 2, maxBitrate: 500_000 },
    { rid: 'f', scaleResolutionDownBy: 1, maxBitrate: height > 720 ? 3_000_000 : 1_700_000 },
  ];

  return layers.filter((layer) => layer.rid === 'f' || height / layer.scaleResolutionDownBy >= 160);
}

/** The only layer of a shared screen, at full size. */
export const screenLayers: RTCRtpEncodingParameters[] = [{ maxBitrate: 2_500_000, maxFramerate: 15 }];
