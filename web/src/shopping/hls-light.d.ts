/** The build of hls.js without separate sound, subtitles and encryption. */
declare module 'hls.js/light' {
  export { default } from 'hls.js';
}
