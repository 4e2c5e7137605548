// Builds the pages' scripts and style into the Python package: node build.mjs
import { build } from "esbuild";

for (const [from, into] of [["src/explorer.ts", "explorer/page/explorer.js"], ["src/report.ts", "lab/sweeping/report.js"]]) {
  await build({ entryPoints: [from], bundle: true, minify: true, format: "iife", target: "es2022", charset: "utf8", legalComments: "none", outfile: `../minitriton/${into}` });
}
await build({
  entryPoints: ["src/explorer.css"],
  minify: true,
  outfile: "../minitriton/explorer/page/explorer.css",
});
