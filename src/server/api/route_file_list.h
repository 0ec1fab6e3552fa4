/* SPDX-License-Identifier: Apache-2.0 */
/* route_file_list.h: the other form of /files, for route_files.c. */
#pragma once

struct question;

/* Files whose names have the parameter `find` in them, of `section`, a row for each path, those with most time first. 0 or negative. */
int file_list_answer(struct question *q);
