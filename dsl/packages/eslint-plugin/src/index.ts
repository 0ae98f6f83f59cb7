// index.ts: placeholder.
export {};
