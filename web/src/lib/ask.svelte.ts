// SPDX-License-Identifier: Apache-2.0
// A short question to the user: a name, or a confirmation.

export interface Question {
	title: string;
	/** The text input: its label, and its initial text. Without: a confirmation. */
	label?: string;
	value?: string;
	/** Alternatives to typing. */
	choices?: string[];
	yes: string;
}

class Asking {
	question = $state.raw<Question | null>(null);
	private answer: (text: string | null) => void = () => {};

	/** The typed text ('' for a confirmation); null if cancelled. */
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
