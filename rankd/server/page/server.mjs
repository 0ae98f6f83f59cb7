// server.mjs: sends requests to the server of the page. Throws the errors that it reports.
import { LineReader } from './comparison.mjs';
import { parseExact } from './model.mjs';

/** The server's error, with all diagnostics. */
function errorOf(data) {
  const all = data.diagnostics?.map((each) => each.message) ?? [data.error.message];
  return Object.assign(new Error(all.join('\n')), { data, code: data.error.code });
}

/** `token` is sent if it is not empty; `onRefused()` is called if the server requires another one. */
export class Server {
  constructor(onRefused) {
    Object.assign(this, { token: '', onRefused });
  }

  async send(path, { body, signal } = {}) {
    const headers = this.token === '' ? {} : { Authorization: `Bearer ${this.token}` };
    if (body !== undefined) headers['Content-Type'] = 'application/json';
    let answer;
    try {
      answer = await fetch(path, { method: body === undefined ? 'GET' : 'POST', headers, body, signal, cache: 'no-store' });
    } catch (error) {
      if (signal?.aborted) throw error;
      throw new Error('the server does not answer');
    }
    if (answer.status === 401) this.onRefused();
    return answer;
  }

  /** Returns parsed JSON, or text; with a body it is a POST. */
  async ask(path, body) {
    const answer = await this.send(path, { body });
    const text = await answer.text();
    if (answer.headers.get('Content-Type')?.startsWith('application/json')) {
      const data = parseExact(text);
      if (answer.ok) return data;
      throw errorOf(data);
    }
    if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
    return text;
  }

  /** Calls `onLine` for each line of an answer; throws if a line is an error. `signal` ends it. */
  async askLines(path, signal, onLine) {
    const answer = await this.send(path, { signal });
    if (!answer.ok) throw errorOf(parseExact(await answer.text()));
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    const lines = new LineReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      for (const line of lines.add(value)) {
        const data = parseExact(line);
        if (data.error) throw errorOf(data);
        onLine(data);
      }
    }
  }
}
