// What is set in SDPs and transceivers, apart from any connection.

/** Which codec a camera is sent with. */
export type VideoCodec = 'vp8' | 'h264' | 'vp9' | 'av1';

/**
 * Lets Opus fall silent in pauses and carry repair data. Whether it may is the
 * receiver's to say, so it goes into the remote description.
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

/** Sound with redundancy (RFC 2198): each packet carries the frames before it again. */
export type AudioRedundancy = 'red';

/** The codecs with the wanted one first; the others stay, for a server without it. */
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

/** A shared screen is one sharp layer. */
export const screenLayers: RTCRtpEncodingParameters[] = [{ maxBitrate: 2_500_000, maxFramerate: 15 }];
