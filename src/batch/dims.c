/* SPDX-License-Identifier: Apache-2.0 */
#include "batch/dims.h"
