/** Throws the reason of a signal that was aborted. React Native has no `throwIfAborted`. */
export function checkAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw abortReason(signal);
}

/** Waits for some milliseconds, or until the signal is aborted, and then throws its reason. */
export function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  let timer: ReturnType<typeof setTimeout>;
  const waited = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  return abortable(waited, signal).finally(() => clearTimeout(timer));
}

/** Stops waiting for a promise, which others may share, when the signal is aborted. */
export async function abortable<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  checkAborted(signal);
  if (signal === undefined) return promise;
  let stop = (): void => undefined;
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(abortReason(signal));
    signal.addEventListener("abort", stop);
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** The pause before attempt `attempt + 1`: doubling from half a second up to `maximumMs`, half of it random. */
export function backoff(attempt: number, maximumMs: number): number {
  const pause = Math.min(maximumMs, 500 * 2 ** (attempt - 1));
  return pause / 2 + (Math.random() * pause) / 2;
}

export function abortReason(signal: AbortSignal): unknown {
  return (signal.reason as unknown) ?? Object.assign(new Error("The operation was aborted"), { name: "AbortError" });
}
