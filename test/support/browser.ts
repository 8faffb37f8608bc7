/** A headless Chromium, as `npm run test:browser` installs it, and pages opened in it as people have them. */

import { mkdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { extname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

import * as z from 'zod';

import { browserFolder } from '../../config/tooling/install-browser.ts';
import { openInstallation, type Installation } from './installation.ts';

/** A large and a small window, each by day and by night. */
export const windows = [1200, 400].flatMap((width) =>
  (['light', 'dark'] as const).map((scheme) => ({ width, scheme })),
);
export type Window = (typeof windows)[number];

export interface Browser {
  /** Opens an address and waits until nothing more is loaded. */
  open(url: string, window: Window): Promise<Page>;
  close(): Promise<void>;
}

export interface Page {
  /** Milliseconds from the request until nothing more was loaded. */
  readonly tookMs: number;
  /** Errors and warnings of the console, failures of scripts, and what could not be loaded, so far. */
  readonly errors: readonly string[];
  /** What the reader would complain of, by `test/browser/inspect-page.mjs`. */
  inspect(): Promise<Inspection>;
  /** The value of an expression in the page, which has to be plain. */
  value(expression: string): Promise<unknown>;
  /** Chooses an option of a select. */
  choose(selector: string, value: string): Promise<void>;
  /** Saves what is shown, or its upper part, for people to look at; into `RIPEN_PICTURES`, or beside the browser. */
  picture(name: string, height?: number): Promise<void>;
  close(): Promise<void>;
}

const inspection = z.object({
  complaints: z.array(z.string()),
  texts: z.number(),
  marks: z.number(),
});
export type Inspection = z.infer<typeof inspection>;

/** As much of the library as is used here; it comes without its types. */
interface ForeignPage {
  on(event: 'console', listener: (message: { type(): string; text(): string }) => void): void;
  on(event: 'pageerror', listener: (error: Error) => void): void;
  on(event: 'requestfailed', listener: (request: { url(): string }) => void): void;
  setViewport(size: { width: number; height: number; deviceScaleFactor: number }): Promise<void>;
  emulateMediaFeatures(features: readonly { name: string; value: string }[]): Promise<void>;
  goto(url: string, options: { waitUntil: 'networkidle0' }): Promise<unknown>;
  evaluate(expression: string): Promise<unknown>;
  select(selector: string, value: string): Promise<unknown>;
  screenshot(options: object): Promise<unknown>;
  close(): Promise<void>;
}
interface ForeignBrowser {
  newPage(): Promise<ForeignPage>;
  close(): Promise<void>;
}
interface Launcher {
  launch(options: {
    args: readonly string[];
    executablePath: string;
    headless: 'shell';
  }): Promise<ForeignBrowser>;
}
interface Chromium {
  readonly args: readonly string[];
  executablePath(): Promise<string>;
}

const defaultOf = <T>(isIt: (value: unknown) => value is T) =>
  z.object({ default: z.custom<T>((value) => isIt(value)) }).transform((module) => module.default);
const isLauncher = (value: unknown): value is Launcher =>
  value instanceof Object && 'launch' in value;
const isChromium = (value: unknown): value is Chromium =>
  value instanceof Object && 'executablePath' in value;

async function installed<T>(name: string, isIt: (value: unknown) => value is T): Promise<T> {
  const path = createRequire(join(browserFolder, 'index.js')).resolve(name);
  const module: unknown = await import(pathToFileURL(path).href);
  return defaultOf(isIt).parse(module);
}

/** Starts the browser; it fails, rather than skips, where it is not installed. */
export async function openBrowser(): Promise<Browser> {
  const chromium = await installed('@sparticuz/chromium', isChromium);
  const launcher = await installed('puppeteer-core', isLauncher);
  const browser = await launcher.launch({
    args: chromium.args,
    executablePath: await chromium.executablePath(),
    headless: 'shell',
  });
  return {
    open: async (url, window) => openPage(await browser.newPage(), url, window),
    close: () => browser.close(),
  };
}

const HEIGHT = 800;
const PICTURES = process.env['RIPEN_PICTURES'] ?? join(browserFolder, 'pictures');

async function openPage(page: ForeignPage, url: string, { width, scheme }: Window): Promise<Page> {
  const errors: string[] = [];
  page.on('console', (message) => {
    if (/error|warn/.test(message.type())) errors.push(message.text());
  });
  page.on('pageerror', ({ message }) => errors.push(message));
  page.on('requestfailed', (request) => errors.push(`not loaded: ${request.url()}`));
  await page.setViewport({ width, height: HEIGHT, deviceScaleFactor: 1 });
  await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
  const startedAt = performance.now();
  await page.goto(url, { waitUntil: 'networkidle0' });
  const tookMs = performance.now() - startedAt;
  return {
    tookMs,
    errors,
    inspect: async () => inspection.parse(await page.evaluate(await readFile(INSPECTION, 'utf8'))),
    value: (expression) => page.evaluate(expression),
    choose: async (selector, value) => {
      await page.select(selector, value);
    },
    picture: async (name, height) => {
      await mkdir(PICTURES, { recursive: true });
      const path = join(PICTURES, `${name}-${width}-${scheme}.png`);
      const part =
        height === undefined ? { fullPage: true } : { clip: { x: 0, y: 0, width, height } };
      await page.screenshot({ path, ...part });
    },
    close: () => page.close(),
  };
}

const INSPECTION = new URL('../browser/inspect-page.mjs', import.meta.url);

const mediaTypes: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.json': 'application/json',
};

/** An installation in which `ripen demo` was run. */
export async function openTour(): Promise<Installation> {
  const installation = await openInstallation();
  const { code, err } = await installation.run(['demo', '--quiet']);
  if (code !== 0) throw new Error(`the tour ended with ${code}: ${err}`);
  return installation;
}

/** Serves a folder on loopback, as any web server does. */
export async function serveFolder(
  folder: string,
): Promise<{ url: string; close(): Promise<void> }> {
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost');
    const path = join(folder, pathname.endsWith('/') ? `${pathname}index.html` : pathname);
    readFile(path).then(
      (body) =>
        response
          .writeHead(200, { 'content-type': mediaTypes[extname(path)] ?? 'text/plain' })
          .end(body),
      () => response.writeHead(404).end(),
    );
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return {
    url: `http://127.0.0.1:${address.port}/`,
    close: () =>
      new Promise(
        (resolve) =>
          void server.close(() => {
            resolve();
          }),
      ),
  };
}
