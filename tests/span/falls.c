/* SPDX-License-Identifier: Apache-2.0 */
/* falls.c: a library with functions for probes.py that another program calls. */
#include <unistd.h>

int fall(int n);
int hold(int seconds);

__attribute__((noipa)) int fall(int n)
{
	int below = n > 0 ? fall(n - 1) : -1;

	__asm__ volatile("" : "+r"(below)); /* no loop is made of it */
	return below + 1;
}

int hold(int seconds)
{
	return (int)sleep((unsigned int)seconds);
}
