"""How agents are reached: in processes of their own on this machine, or at other organisations over FLARE."""
