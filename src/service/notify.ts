/** Posts that a run has ended. */

import type { Notify } from '../config/config.ts';
import { textOf } from '../errors.ts';
import { openDispatcher } from './dispatcher.ts';

/** Shorter than the time a service manager grants a stopped process. */
const PATIENCE_MS = 5000;

/**
 * Returns what went wrong, naming only the host. Follows no redirect. A text must not alert its readers in Slack, so `<`, `>`
 * and `&` are escaped.
 */
export async function postText(
  { url, proxy }: Omit<Notify, 'on'>,
  text: string,
): Promise<string | null> {
  const address = new URL(url.reveal());
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  const dispatcher = openDispatcher(1, PATIENCE_MS, null, proxy);
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
    const reason = isLate ? `no answer within ${PATIENCE_MS / 1000} s` : textOf(error);
    return `${address.host} could not be notified: ${reason}`;
  } finally {
    await dispatcher.destroy();
  }
}
