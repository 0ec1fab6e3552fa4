/* SPDX-License-Identifier: Apache-2.0 */
/* route_file_list.h: the search form of /files, used by route_files.c. */
#pragma once

struct question;

/*
 * Answers with the files of the parameter `section` whose names contain `find`, one row per path, most time first. 0
 * or negative.
 */
int file_list_answer(struct question *q);
