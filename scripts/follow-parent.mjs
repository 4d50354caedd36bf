// Loaded before a program that bootstrap.mjs runs: when bootstrap is gone, even by kill -9, the program is told to end.
process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'));
process.channel?.unref();
