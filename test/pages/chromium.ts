import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { WebSocket } from "undici";

/** One tab of a real Chromium, driven through its DevTools protocol. */
export interface Tab {
  open(url: string): Promise<void>;
  /** The value of an expression in the page; it must be JSON. */
  read<T>(expression: string): Promise<T>;
  /** One key, pressed and let go, as a keyboard sends it. */
  press(key: "Tab" | "Enter" | "Space"): Promise<void>;
  type(text: string): Promise<void>;
  /** Waits until an expression holds; rejects after 10 s. */
  until(expression: string): Promise<void>;
  /** What the page's console and its security policy complained of. */
  readonly complaints: string[];
  screenshot(): Promise<Buffer>;
  close(): Promise<void>;
}

const keys = {
  Tab: { key: "Tab", code: "Tab", windowsVirtualKeyCode: 9 },
  Enter: { key: "Enter", code: "Enter", windowsVirtualKeyCode: 13, text: "\r" },
  Space: { key: " ", code: "Space", windowsVirtualKeyCode: 32, text: " " },
} as const;

/** Rejects with a sentence when there is no Chromium. `widthPx` is the viewport's, as on a phone. */
export async function openChromium(widthPx: number): Promise<Tab> {
  const profile = await mkdtemp(join(tmpdir(), "sallyport-chromium-"));
  const flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--ignore-certificate-errors", "--no-first-run"];
  const browser = spawn("chromium", [
    ...flags,
    "--remote-debugging-port=0",
    `--user-data-dir=${profile}`,
    "about:blank",
  ]);
  const ended = new Promise<void>((resolve) =>
    browser.once("close", () => {
      resolve();
    }),
  );
  const endpoint = await debuggingEndpoint(browser);
  const socket = new WebSocket(await pageSocket(endpoint));
  await new Promise((resolve, reject) => {
    socket.addEventListener("open", resolve);
    socket.addEventListener("error", reject);
  });
  const complaints: string[] = [];
  const waiting = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  socket.addEventListener("message", ({ data }) => {
    const message = JSON.parse(String(data)) as Message;
    if (message.method === "Log.entryAdded") complaints.push(message.params?.entry?.text ?? "");
    const waiter = message.id === undefined ? undefined : waiting.get(message.id);
    if (message.error === undefined) waiter?.resolve(message.result);
    else waiter?.reject(new Error(message.error.message));
  });
  let last = 0;
  const send = <T>(method: string, params: object = {}): Promise<T> => {
    const id = (last += 1);
    return new Promise<T>((resolve, reject) => {
      waiting.set(id, {
        resolve: (value) => {
          resolve(value as T);
        },
        reject,
      });
      socket.send(JSON.stringify({ id, method, params }));
    });
  };
  await send("Page.enable");
  await send("Log.enable");
  // Without it a page that nobody looks at has no focus, and shows none.
  await send("Emulation.setFocusEmulationEnabled", { enabled: true });
  await send("Emulation.setDeviceMetricsOverride", { width: widthPx, height: 740, deviceScaleFactor: 2, mobile: true });
  const read = async <T>(expression: string): Promise<T> => {
    const { result } = await send<{ result: { value: T } }>("Runtime.evaluate", { expression, returnByValue: true });
    return result.value;
  };
  const until = async (expression: string): Promise<void> => {
    for (let tries = 0; tries < 200; tries += 1) {
      if (await read<boolean>(`Boolean(${expression})`).catch(() => false)) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error(
      `never came true: ${expression}\nat ${await read<string>("location.href + document.body.innerText")}`,
    );
  };
  return {
    read,
    until,
    complaints,
    open: async (url) => {
      await send("Page.navigate", { url });
      await until(`document.readyState === "complete" && location.href !== "about:blank"`);
    },
    press: async (key) => {
      await send("Input.dispatchKeyEvent", { type: "keyDown", ...keys[key] });
      await send("Input.dispatchKeyEvent", { type: "keyUp", ...keys[key] });
    },
    type: (text) => send("Input.insertText", { text }),
    screenshot: async () => Buffer.from((await send<{ data: string }>("Page.captureScreenshot")).data, "base64"),
    close: async () => {
      socket.close();
      browser.kill();
      await ended;
      await rm(profile, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly entry?: { readonly text: string } };
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

function debuggingEndpoint(browser: ReturnType<typeof spawn>): Promise<string> {
  return new Promise((resolve, reject) => {
    let said = "";
    browser.once("error", () => {
      reject(new Error("these checks need Chromium: install the package `chromium`"));
    });
    browser.once("close", () => {
      reject(new Error(`Chromium did not start: ${said}`));
    });
    browser.stderr?.on("data", (chunk: Buffer) => {
      said += chunk.toString();
      const [, endpoint] = /DevTools listening on ws:\/\/([^/]+)/.exec(said) ?? [];
      if (endpoint !== undefined) resolve(endpoint);
    });
  });
}

async function pageSocket(endpoint: string): Promise<string> {
  const targets = (await (await fetch(`http://${endpoint}/json/list`)).json()) as {
    readonly type: string;
    readonly webSocketDebuggerUrl: string;
  }[];
  return targets.find(({ type }) => type === "page")?.webSocketDebuggerUrl ?? "";
}
