// SPDX-License-Identifier: GPL-3.0-or-later
// Answers questions as ask.c does, with the module: node ask.js MODULE [NAME=FILE...] <QUESTIONS
'use strict';
const fs = require('fs'), vm = require('vm');
vm.runInThisContext(fs.readFileSync(`${__dirname}/../../web/core.js`, 'utf8'));

const files = {};
for (const argument of process.argv.slice(3)) {
  const [name, path] = argument.split('=');
  files[name] = new Uint8Array(fs.readFileSync(path));
}
speclabCore(fs.readFileSync(process.argv[2]), files).then(core => {
  const questions = fs.readFileSync(0, 'utf8').split('\n').slice(0, -1);
  const answers = questions.map(question => core.text(question.replace(/\t/g, '\n')));
  fs.writeSync(1, answers.join('\n') + '\n');
});
