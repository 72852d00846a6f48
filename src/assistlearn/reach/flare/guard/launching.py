"""Starts the process of a job behind the guard, with nothing from the job on its Python path."""

from __future__ import annotations

import os
from typing import Any

from nvflare.apis.fl_constant import FLContextKey
from nvflare.apis.job_launcher_spec import JobProcessArgs
from nvflare.app_common.job_launcher.process_launcher import ProcessHandle, ProcessJobLauncher
from nvflare.utils.job_launcher_utils import get_client_job_args, get_credential_env, get_server_job_args
from nvflare.utils.process_utils import spawn_process

from assistlearn.reach.flare.guard.processes import Process, command


def launch_behind_guard(process: Process) -> None:
    """Make FLARE's process launchers start the processes of jobs by our command."""
    wanted = (get_client_job_args if process == "job" else get_server_job_args)(include_exe_module=False)

    def launch(launcher: Any, job_meta: dict[str, Any], context: Any) -> ProcessHandle:
        values = context.get_prop(FLContextKey.JOB_PROCESS_ARGS)
        words = command(process)
        for option, value in (values[name] for name in wanted if name in values):
            words += [option, *(str(value).split() if option == values[JobProcessArgs.OPTIONS][0] else [str(value)])]
        environment = os.environ | get_credential_env(values)
        return ProcessHandle(process_adapter=spawn_process(words, environment))

    ProcessJobLauncher.launch_job = launch
