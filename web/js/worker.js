// SPDX-License-Identifier: GPL-3.0-or-later
// worker: answers the questions of lab.js, in order. web/core.js comes before it in the same file.

let opened = null;

onmessage = async ({data}) => {
  if (data.module) {
    opened = speclabCore(data.module, data.files);
    return;
  }
  try {
    const core = await opened;
    postMessage({number: data.number, answer: data.name === 'numbers'
      ? numbers(core, data.args) : core.ask(data.name, data.args)});
  } catch (error) {
    postMessage({number: data.number, error: error.message, status: error.status || 4});
  }
};

/** A closed form at many places: {form, at: [[arguments], ...]} -> [numbers]. */
function numbers(core, {form, at}) {
  return at.map(place => core.x[`speclab_${form}`](...place));
}
