import { definePlan } from "@rankd/plan";

import { bestFirst } from "./score.js";

export default definePlan({ name: "best", build: (ctx) => bestFirst(ctx).take({ count: 10 }) });
