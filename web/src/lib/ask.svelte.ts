// SPDX-License-Identifier: Apache-2.0
// A short question to who looks: a name, or yes.

export interface Question {
	title: string;
	/** What is typed: its label, and what stands there at first. Without: yes or no. */
	label?: string;
	value?: string;
	/** What may be chosen instead of typing. */
	choices?: string[];
	yes: string;
}

class Asking {
	question = $state.raw<Question | null>(null);
	private answer: (text: string | null) => void = () => {};

	/** What was typed ('' for a plain yes); null where nothing was. */
	ask(question: Question): Promise<string | null> {
		this.answer(null);
		this.question = question;
		return new Promise((resolve) => (this.answer = resolve));
	}

	close(text: string | null) {
		this.question = null;
		this.answer(text);
		this.answer = () => {};
	}
}

export const asking = new Asking();
