/* SPDX-License-Identifier: Apache-2.0 */
/* carriers_library.c: the variable of carriers.c in a library; ROOM: bytes of further thread-local variables. */
#ifdef ROOM
__thread char carriers_room[ROOM];
#endif
__attribute__((visibility("default"))) __thread void *volatile otel_thread_ctx_v1;

void *volatile *carriers_variable(void);
__attribute__((visibility("default"))) void *volatile *carriers_variable(void)
{
#ifdef ROOM
	carriers_room[0] = 1;
#endif
	return &otel_thread_ctx_v1;
}
