/* SPDX-License-Identifier: Apache-2.0 */
/* click_server.h: a ClickHouse server of the test's own, in the fixture's folder, on ports of loopback that are free. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Starts it; false where it is not installed. Fails the test where it does not answer. */
bool click_server_start(void);
/* Ends it with a signal, and waits. */
void click_server_stop(int signal);
/* "clickhouse://127.0.0.1:PORT/DATABASE", static storage until the next call. */
const char *click_server_address(const char *database);
/* Loads the traces, in their order. */
void click_server_load(const char *database, const char *const *paths, size_t count);
/* The answer to a statement, static storage until the next call. */
const char *click_server_ask(const char *database, const char *sql);
