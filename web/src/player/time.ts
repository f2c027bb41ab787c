/** Formats seconds as m:ss or h:mm:ss. */
export function clock(seconds: number): string {
  const whole = Math.max(Math.round(seconds), 0);
  const two = (n: number) => String(n % 60).padStart(2, '0');
  const minutes = Math.floor(whole / 60);

  return minutes < 60 ? `${minutes}:${two(whole)}` : `${Math.floor(minutes / 60)}:${two(minutes)}:${two(whole)}`;
}
