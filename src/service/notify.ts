/** Posts that a run has ended. */

import type { Notify } from '../config/config.ts';
import { openDispatcher } from './dispatcher.ts';

/** Shorter than the time a service manager grants a stopped process. */
const PATIENCE_MS = 5000;

/**
 * Posts a text once. Returns what went wrong, naming only the host. Follows no redirect. Escapes `<`, `>` and `&` for Slack: a
 * text must not alert its readers.
 */
export async function postText(
  { url, proxy }: Omit<Notify, 'on'>,
  text: string,
): Promise<string | null> {
  const address = new URL(url.reveal());
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  const dispatcher = openDispatcher({
    connections: 1,
    timeoutMs: PATIENCE_MS,
    caFile: null,
    proxy,
  });
  try {
    const { statusCode } = await dispatcher.request({
      origin: address.origin,
      path: `${address.pathname}${address.search}`,
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ text: escaped }),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    if (statusCode >= 200 && statusCode < 300) return null;
    return `${address.host} answered ${statusCode}`;
  } catch (error) {
    const isLate = error instanceof Error && error.name === 'TimeoutError';
    const reason = isLate
      ? `no answer within ${PATIENCE_MS / 1000} s`
      : error instanceof Error
        ? error.message
        : 'unknown';
    return `${address.host} could not be notified: ${reason}`;
  } finally {
    await dispatcher.destroy();
  }
}
