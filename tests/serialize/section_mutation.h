#pragma once
/* Damages one section of a container and makes it a whole one again: only what the section's reader
 * checks can find it. */
#include "tests/serialize/serialize_fixtures.h"
#include "serialize/container/container.h"

/* A copy of the container with that section replaced; bulk data refers to the same chunks. */
Container *section_replace(
    const Container *from, SectionNumber number, const void *data, size_t size, ChunkSource source);
/* Calls visit with copies in which one byte of the section is changed (each byte, three ways) or
 * the section is cut. */
typedef void SectionVisit(const Container *mutated, void *context);
void section_mutate(const Container *from, SectionNumber number, ChunkSource source,
    SectionVisit *visit, void *context);
