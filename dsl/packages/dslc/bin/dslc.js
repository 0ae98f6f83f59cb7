#!/usr/bin/env node
// The command `dslc`; what it does stands in src/cli.ts.
import { main } from "../dist/cli.js";

process.exitCode = await main(process.argv.slice(2));
