// places.ts: finds the position of running code in the author's files, and creates errors with such positions.

/** The number of a span in the compiler's table; 0 if the place is unknown. */
export type SpanId = number;

/** The symbol under which an object literal of a plan stores the spans of its fields. */
export const fieldSpans = Symbol("field spans");

/** An error in a plan, as the compiler reports it. */
export class PlanError extends Error {
  readonly code: string;
  readonly span: SpanId;
  readonly hint: string;

  constructor(code: string, message: string, options: { span?: SpanId | undefined; hint?: string } = {}) {
    super(message);
    this.name = "PlanError";
    this.code = code;
    this.span = options.span || currentSpan();
    this.hint = options.hint ?? "";
  }
}

interface Frame {
  span: SpanId;
  args: readonly SpanId[];
}

const frames: Frame[] = [];

/** The span of the innermost running call of the plan. */
export function currentSpan(): SpanId {
  return frames.length === 0 ? 0 : frames[frames.length - 1]!.span;
}

/** The span of an argument of that call. */
export function argumentSpan(index: number): SpanId {
  return frames.length === 0 ? 0 : (frames[frames.length - 1]!.args[index] ?? 0);
}

/** Runs a call in the text of the plan. Errors in it get the position of the innermost call. */
export function inFrame<Result>(span: SpanId, args: readonly SpanId[], run: () => Result): Result {
  frames.push({ span, args });
  try {
    return run();
  } catch (thrown) {
    if (typeof thrown === "object" && thrown !== null && !("span" in thrown))
      Object.defineProperty(thrown, "span", { value: span });
    throw thrown;
  } finally {
    frames.pop();
  }
}
