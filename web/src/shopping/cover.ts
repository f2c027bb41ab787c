/** A canvas over the video, which holds the last picture while the video's source changes. So there is no black gap. */
export class Cover {
  #holds = 0;

  constructor(
    private readonly video: HTMLVideoElement,
    private readonly canvas: HTMLCanvasElement,
  ) {}

  /** Shows the current picture until the video shows one of a new source. Call it before the change. */
  hold(): void {
    const { video, canvas } = this;
    const pen = canvas.getContext('2d');
    if (!pen) return;
    if (this.#shows()) {
      canvas.width = video.videoWidth;
      canvas.height = video.videoHeight;
      pen.drawImage(video, 0, 0);
      canvas.hidden = false;
    }
    this.#holds++;
  }

  /** Removes the picture as soon as the video shows one. Call it after the change. */
  lift(): void {
    const mine = this.#holds;
    // The call may come for a last picture of the old source, and before the video has the new picture's size.
    const lifted = (): void => {
      if (mine !== this.#holds) return; // the source has changed again
      if (this.#shows()) this.canvas.hidden = true;
      else requestAnimationFrame(lifted);
    };
    if ('requestVideoFrameCallback' in this.video) this.video.requestVideoFrameCallback(lifted);
    else (this.video as HTMLVideoElement).addEventListener('playing', lifted, { once: true });
  }

  /** Removes the picture now. */
  remove(): void {
    this.#holds++;
    this.canvas.hidden = true;
  }

  #shows(): boolean {
    return this.video.readyState > 1 && this.video.videoWidth > 0;
  }
}
