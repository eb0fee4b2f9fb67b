#!/usr/bin/env node
// Starts the program of this platform, which npm has installed beside this package: an optional dependency for each platform, of
// which npm takes the one whose "os" and "cpu" fit. Nothing is downloaded here, and there is no install script.
"use strict";

const { spawn } = require("node:child_process");

const releases = "https://github.com/firesweep/firesweep/releases";
const platform = `${process.platform}-${process.arch}`;
const packages = Object.keys(require("./package.json").optionalDependencies);
const wanted = `@firesweep/${platform}`;

function fail(...lines) {
  console.error(["firesweep: " + lines[0], ...lines.slice(1).map((line) => "  " + line)].join("\n"));
  process.exit(1);
}

function program() {
  if (!packages.includes(wanted)) {
    fail(
      `there is no program for ${platform}, only for ${packages.map((name) => name.replace("@firesweep/", "")).join(", ")}.`,
      "With Go 1.26 you can build one: go install github.com/firesweep/firesweep/scripts/firesweep@latest",
    );
  }
  try {
    return require.resolve(`${wanted}/firesweep${process.platform === "win32" ? ".exe" : ""}`);
  } catch {
    return fail(
      `the package ${wanted}, which holds the program for this platform, is not installed.`,
      "It is an optional dependency: install again without --omit=optional, and without a node_modules folder or",
      "package-lock.json that was made on another platform. Or take the program itself: " + releases,
    );
  }
}

let child;

// The program ends a run by itself when it is interrupted, so this process waits for it. On Windows a console tells both, and a signal
// that is sent on would kill the program at once. This comes before the program starts, or a signal right after its start would end
// this process alone.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => {
    if (process.platform !== "win32") {
      child.kill(signal);
    }
  });
}
child = spawn(program(), process.argv.slice(2), { stdio: "inherit" });
child.on("error", (err) => fail(`${wanted} could not be started: ${err.message}`));
child.on("exit", (code, signal) => {
  if (signal) {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
    return;
  }
  process.exit(code);
});
