/* SPDX-License-Identifier: Apache-2.0 */
/* click_server.h: a ClickHouse server for the test alone, in the fixture's folder, on free loopback ports. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Starts it; false if it is not installed. Fails the test if it does not answer. */
bool click_server_start(void);
/* Ends it with a signal, and waits. */
void click_server_stop(int signal);
/* "clickhouse://127.0.0.1:PORT/DATABASE", static storage until the next call. */
const char *click_server_address(const char *database);
/* Loads the traces, in order. */
void click_server_load(const char *database, const char *const *paths, size_t count);
/* The answer to a statement, static storage until the next call. */
const char *click_server_ask(const char *database, const char *sql);
