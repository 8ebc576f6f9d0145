"""A disk that writes down what it is told: every write and every flush, in order, with its time.

One file in a file system of its own (FUSE); a loop device on that file is the disk. From the record
comes what such a disk holds when the power goes at any moment: what was flushed is there, and of
what came after the last flush any part may be missing. Run as a process of its own:

    python -m tests.faults.recorder MOUNT_POINT IMAGE RECORD
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import struct
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

NAME = "disk"  # of the only file
MOST = 2**20  # bytes of one write
IN, OUT, ATTRIBUTES = "<IIQQIIIHH", "<IiQ", "<QQQQQQIIIIIIIIII"
ENTRY = "<QIIQ"  # of the record: nanoseconds, kind, length, offset
WRITE, FLUSH = 1, 2
FORGET, INTERRUPT, BATCH_FORGET = 2, 36, 42  # these want no answer


@dataclass(frozen=True)
class Told:
    """One thing that the disk was told, at a time of `time.monotonic_ns`; a flush has no data."""

    time: int
    offset: int = 0
    data: bytes = b""

    @property
    def is_flush(self) -> bool:
        return not self.data


def read(record: Path) -> list[Told]:
    """What the disk was told, in order."""
    found: list[Told] = []
    data = record.read_bytes()
    place, size = 0, struct.calcsize(ENTRY)
    while place + size <= len(data):
        moment, kind, length, offset = struct.unpack_from(ENTRY, data, place)
        place += size
        found.append(Told(moment, offset, data[place : place + length] if kind == WRITE else b""))
        place += length
    return found


class Disk:
    """Answers the kernel: the image's bytes, and a line in the record for all that changes them."""

    def __init__(self, image: int, record: int) -> None:
        self.image, self.record = image, record
        self.size = os.fstat(image).st_size
        self.answers: dict[int, Callable[[int, memoryview], bytes]] = {
            1: self.lookup,
            3: lambda node, body: struct.pack("<QII", 60, 0, 0) + self.attributes(node),
            4: lambda node, body: struct.pack("<QII", 60, 0, 0) + self.attributes(node),
            14: lambda node, body: struct.pack("<QII", 0, 1, 0),  # no cache between us and the loop
            15: self.read,
            16: self.write,
            17: lambda node, body: struct.pack("<5Q4I6I", *[0] * 5, 4096, 255, 4096, *[0] * 7),
            18: lambda node, body: b"",
            20: self.flush,
            25: lambda node, body: b"",
            26: self.begin,
        }

    def begin(self, node: int, body: memoryview) -> bytes:
        flags = 1 << 5 | 1 << 22  # writes of more than a page, and as many pages as we say
        more = (7, 31, 0, flags, 16, 12, MOST, 1, MOST // 4096, 0)
        return struct.pack("<IIIIHHIIHH", *more) + bytes(32)

    def attributes(self, node: int) -> bytes:
        mode, size = (stat.S_IFDIR | 0o755, 0) if node == 1 else (stat.S_IFREG | 0o600, self.size)
        return struct.pack(ATTRIBUTES, node, size, size // 512, *[0] * 6, mode, 1, 0, 0, 0, 4096, 0)

    def lookup(self, node: int, body: memoryview) -> bytes:
        if bytes(body).rstrip(b"\0") != NAME.encode():
            raise OSError(errno.ENOENT, "no such file")
        return struct.pack("<QQQQII", 2, 0, 60, 60, 0, 0) + self.attributes(2)

    def read(self, node: int, body: memoryview) -> bytes:
        _, offset, size = struct.unpack_from("<QQI", body)
        return os.pread(self.image, size, offset)

    def write(self, node: int, body: memoryview) -> bytes:
        _, offset, size = struct.unpack_from("<QQI", body)
        data = body[40 : 40 + size]
        os.pwrite(self.image, data, offset)
        head = struct.pack(ENTRY, time.monotonic_ns(), WRITE, size, offset)
        os.writev(self.record, [head, data])
        return struct.pack("<II", size, 0)

    def flush(self, node: int, body: memoryview) -> bytes:
        os.write(self.record, struct.pack(ENTRY, time.monotonic_ns(), FLUSH, 0, 0))
        return b""

    def serve(self, kernel: int) -> None:
        """Until it is unmounted."""
        while True:
            try:
                request = os.read(kernel, MOST + 8192)
            except OSError as error:
                if error.errno == errno.ENODEV:
                    return
                if error.errno in (errno.EINTR, errno.ENOENT, errno.EAGAIN):
                    continue
                raise
            _, code, number, node, *_ = struct.unpack_from(IN, request)
            if code not in (FORGET, INTERRUPT, BATCH_FORGET):
                self._answer(kernel, code, number, node, memoryview(request)[40:])

    def _answer(self, kernel: int, code: int, number: int, node: int, body: memoryview) -> None:
        try:
            if code not in self.answers:
                raise OSError(errno.ENOSYS, "not known")
            error, answer = 0, self.answers[code](node, body)
        except OSError as caught:
            error, answer = -(caught.errno or errno.EIO), b""
        os.write(kernel, struct.pack(OUT, 16 + len(answer), error, number) + answer)


def main(point: str, image: str, record: str) -> None:
    kernel = os.open("/dev/fuse", os.O_RDWR)
    libc = ctypes.CDLL(None, use_errno=True)
    options = f"fd={kernel},rootmode=40000,user_id=0,group_id=0".encode()
    if libc.mount(b"evenodds", point.encode(), b"fuse", 2 | 4, options):
        raise OSError(ctypes.get_errno(), "cannot mount")
    disk = Disk(
        os.open(image, os.O_RDWR),
        os.open(record, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
    )
    disk.serve(kernel)


if __name__ == "__main__":
    main(*sys.argv[1:])
