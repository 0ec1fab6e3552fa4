/* SPDX-License-Identifier: Apache-2.0 */
/* route_file_list.h: the other form of /files, for route_files.c. */
#pragma once

struct question;

/*
 * Files of the parameter `section` whose names have `find` in them, a row for each path, those with most time first.
 * 0 or negative.
 */
int file_list_answer(struct question *q);
