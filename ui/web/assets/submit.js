// Submitting a job.

import { dialog } from "./dialog.js";
import { h } from "./dom.js";

export function openSubmit() {
  dialog({ title: "Submit a job", action: "Submit", form: () => h("p", {}), act: async () => "" });
}
